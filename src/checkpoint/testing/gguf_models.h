#pragma once
// Whole small models as GGUF files, for tests: the keys and the vocabulary that a family needs.

#include <string>

#include "checkpoint/testing/gguf_bytes.h"

namespace foretoken {

// Keys of a family's sizes: 2 layers of width 64 with 4 heads and 2 KV heads, 96 wide MLP.
GgufBytes gguf_keys(const std::string& architecture);

// Adds a vocabulary of byte-level BPE: the 256 bytes, a few merges, <|end|> (control),
// <tool> (user defined) and filling up to 288.
GgufBytes& add_byte_level(GgufBytes& file, const std::string& pre);

}  // namespace foretoken
