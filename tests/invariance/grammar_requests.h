#pragma once
// Requests whose output is bound to random grammars (schemas, regular expressions, EBNF, structural
// tags) over a vocabulary of bytes, at temperature 0 and above.

#include <cstdint>
#include <vector>

#include "engine/request.h"

namespace foretoken {

// For any vocabulary of 260 tokens and more.
std::vector<Request> grammar_requests(std::uint64_t seed);

}  // namespace foretoken
