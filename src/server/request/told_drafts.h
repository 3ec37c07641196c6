#pragma once
// What a request with `speculative` is told of the drafts for it: a report where a choice is
// complete, and, where it has asked for them, the steps: what each verified and what it brought.
// Pure functions.

#include <cstddef>

#include "server/context/server_context.h"
#include "server/json/json_writer.h"
#include "server/request/answer_format.h"

namespace foretoken {

// An object, of a choice that is complete: per drafter what it proposed and what was accepted,
// accepted drafts by depth, and in a word why little was drafted (null: it was not little). With
// "trace": the steps from `from` on, where they are told and there is one left.
void write_draft_report(JsonWriter& json, const RunningChoice& choice, std::size_t from,
                        const ServerContext& context);

// Steps that no event has told yet.
bool has_new_steps(const RunningChoice& choice);
// "speculative": {"trace": these steps}, of a choice that goes on; nothing where there are none.
void write_new_steps(JsonWriter& json, const RunningChoice& choice, const ServerContext& context);

}  // namespace foretoken
