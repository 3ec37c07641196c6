#pragma once
// What is wrong with a request before anything is computed for it, worded as SGLang does.

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "engine/request.h"

namespace foretoken {

// context: tokens of prompt and output together. Nothing: it can run.
std::optional<Refusal> fault_of(const Request& request, std::int64_t vocab, std::int64_t context);

}  // namespace foretoken
