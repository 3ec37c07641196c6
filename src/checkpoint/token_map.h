#pragma once
// The token map of FR-Spec: the target's tokens that a draft head may propose, most frequent first.
// Not the gathering of the head's rows: only the list.

#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Reads a list or tensor of token ids saved with torch.save, or a JSON list. Ids are from 0 to
// vocab - 1, none twice, at least one. Throws Error.
std::vector<Token> read_token_map(const std::string& path, std::int64_t vocab);

}  // namespace foretoken
