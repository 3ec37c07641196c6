#pragma once
// From what is asked to what runs: truncation, limits, ids, seeds, constraints. Shared by all
// generating routes. Thread-safe.

#include <optional>

#include "base/error.h"
#include "server/context/server_context.h"
#include "server/request/asked_prompt.h"
#include "server/request/generation.h"

namespace foretoken {

// Appends the choices of one prompt.
std::optional<Refusal> add_prompt(ServerContext& context, AskedPrompt asked, GenerationPlan& plan);

}  // namespace foretoken
