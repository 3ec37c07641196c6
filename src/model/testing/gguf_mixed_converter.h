#pragma once
// Checkpoints whose layers differ as GGUF files, as llama.cpp's converter writes them, for tests of
// what reads these; also draft models that read the target's keys and values.

#include <string>

namespace foretoken {

// is_odd: a factor of the wide heads is another than the converter makes.
std::string mixed_gguf_of(const std::string& folder, bool is_odd = false);

}  // namespace foretoken
