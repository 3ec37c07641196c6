#pragma once
// How checkpoints pack codes of 8 or 4 bits into words of 32, and all codes of a matrix [n, k] out
// of its words, one a byte. Pure functions; tensors of words have the shapes that the comments say.

#include <array>
#include <cstdint>

#include "tensor/tensor.h"

namespace foretoken {

// Where the codes of a word are.
struct WordLayout {
  int per_word = 8;
  std::uint32_t mask = 15;
  std::array<unsigned, 8> shift = {};  // where the bits of each begin

  static WordLayout low_first(int bits);
  static WordLayout awq();  // of 4 bits: the even ones, then the odd ones

  std::uint8_t code(std::uint32_t word, std::int64_t i) const {
    return static_cast<std::uint8_t>(word >> shift[static_cast<std::size_t>(i)] & mask);
  }
};

// Word i of a tensor of words.
std::uint32_t word_at(const Tensor& words, std::int64_t i);

// AWQ: words of neighbouring n, [k, n / 8].
void unpack_awq(const Tensor& words, std::int64_t n, std::int64_t k, std::uint8_t* codes);
// GPTQ: words of neighbouring k, [k / per_word, n].
void unpack_gptq(const Tensor& words, int bits, std::int64_t n, std::int64_t k,
                 std::uint8_t* codes);
// compressed-tensors: rows of words, each filled up to a whole one, [n, ceil(k / per_word)].
void unpack_compressed(const Tensor& words, int bits, std::int64_t n, std::int64_t k,
                       std::uint8_t* codes);

}  // namespace foretoken
