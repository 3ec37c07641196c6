#pragma once
// Checkpoints of tests/golden as GGUF files, as llama.cpp's converter writes them, for tests of
// what reads these. Not a converter for users; models whose layers differ or keep a state are in
// files of their own.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace foretoken {

struct GgufFamily {
  const char* folder;         // below tests/golden/checkpoints
  const char* architecture;   // general.architecture
  bool pairs = false;         // the converter reorders rows of q and k
  float norm_offset = 0.0F;   // which it adds
  const char* unsaid = "";    // config.json's of what a GGUF file does not say
  float rounding = 0.0F;      // of what a GGUF file keeps as float32
  std::uint32_t rotated = 0;  // elements of a head; 0: the file does not say
  double block_error = 0.04;  // of logits from blocks; more where another expert is chosen
  bool splits_heads = false;  // of latent attention, keys and values are two tensors
  bool is_older = false;      // a tensor for each expert; the file does not say how they are scored
  bool has_heads = false;     // draft heads are kept
};
void PrintTo(const GgufFamily& family, std::ostream* out);

// Where the checkpoint is.
std::string folder_of(const GgufFamily& family);

// Matrices whose names have `of_8_bits` in them are blocks of 8 bits; nullopt: none is.
std::string gguf_of(const GgufFamily& family, const std::optional<std::string>& of_8_bits = {});

}  // namespace foretoken
