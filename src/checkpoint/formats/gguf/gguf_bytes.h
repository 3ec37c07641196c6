#pragma once
// Reading numbers out of GGUF blocks: little-endian, at any address. Pure functions.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/float16.h"

namespace foretoken::gguf {

inline std::uint8_t byte_at(const std::byte* p, int i) {
  return std::to_integer<std::uint8_t>(p[i]);
}

inline std::uint16_t word_at(const std::byte* p) {
  std::uint16_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline float half_at(const std::byte* p) { return f16_to_f32(word_at(p)); }

}  // namespace foretoken::gguf
