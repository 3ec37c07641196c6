#pragma once
// The requests that every cell of the matrix answers: shared and unshared prompts, from one token
// to several attention blocks, at temperature 0 and above, with every sampling parameter.

#include <cstdint>
#include <vector>

#include "engine/request.h"

namespace foretoken {

// vocab: ids are drawn from it. No request is longer than 340 tokens, output included.
std::vector<Request> request_mix(std::int64_t vocab);

}  // namespace foretoken
