#pragma once
// Checkpoints whose layers partly keep a state as GGUF files, as llama.cpp's converter writes them,
// for tests of what reads these.

#include <ostream>
#include <string>

namespace foretoken {

struct GgufStateFamily {
  const char* folder;         // below tests/golden/checkpoints
  const char* architecture;   // general.architecture
  const char* unsaid = "";    // config.json's of what a GGUF file does not say
  bool older = false;         // as the converter wrote it before
  bool only_head = false;     // a draft head, and what it shares with the layers
  double block_error = 0.12;  // of logits from blocks; more where another expert is chosen
};
void PrintTo(const GgufStateFamily& family, std::ostream* out);

// path: of the checkpoint, whose tensors may have a draft head's ("mtp.") among them. is_of_8_bits:
// matrices are blocks of 8 bits where their rows have whole ones.
std::string state_gguf_of(const GgufStateFamily& family, const std::string& path,
                          bool is_of_8_bits = false);

}  // namespace foretoken
