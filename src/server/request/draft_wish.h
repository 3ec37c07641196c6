#pragma once
// `speculative` of a generating request, an extension of ours: what its client wishes of the drafts
// for it, and the report that it gets in return. Changes no token.

#include <optional>

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"

namespace foretoken {

// {"enabled": whether anything is drafted, "max_nodes": of its trees, root included, "drafters":
// names of those that may draft}, each optional; nullopt: the body has none.
std::optional<DraftWish> read_draft_wish(Fields& body, const ServerConfig& config);

// Of an answer that is complete: per drafter what it proposed and what was accepted, accepted
// drafts by depth, and in a word why little was drafted (null: it was not little).
void write_draft_report(JsonWriter& json, const TokenDelta& counters, const ServerConfig& config);

}  // namespace foretoken
