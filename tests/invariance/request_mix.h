#pragma once
// The requests that every cell of the matrix answers: shared and unshared prompts, from one token
// to several attention blocks, at temperature 0 and above, with every sampling parameter.

#include <cstdint>
#include <vector>

#include "engine/request.h"

namespace foretoken {

// vocab: ids are drawn from it. No request is longer than 340 tokens, output included.
std::vector<Request> request_mix(std::int64_t vocab);

// Requests whose rows cross the ends of attention's spans, at positions 512 and 1024: prompts with
// their logprobs there, and decodes. None is longer than 1040 tokens.
std::vector<Request> long_request_mix(std::int64_t vocab);

}  // namespace foretoken
