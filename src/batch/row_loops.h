#pragma once
// RowLoops: the sampler's loops over whole rows of logits, compiled for each width of vectors that
// a machine may have. One source, with multiplies and adds apart and a fixed order of additions, so
// all of them give the same bits. Not the sampler: it knows no parameters. Pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace foretoken {

struct RowLoops {
  static constexpr std::size_t kBlock = 1024;  // values
  static constexpr std::size_t kGroup = 16;    // of a block
  static constexpr std::size_t kTop = 64;      // values that share a top

  const char* isa;

  // Divides by the temperature, makes every value minus infinity or within +-1e30. Tops are the
  // greatest of each kTop values, as many as there are parts; returns the greatest of all, minus
  // infinity for n = 0.
  float (*scale_and_clean)(float* x, std::size_t n, float temperature, float* tops);
  // The greatest value; minus infinity for n = 0. No NaN.
  float (*max)(const float* x, std::size_t n);
  // The first place of a value; n: there is none.
  std::size_t (*first_equal)(const float* x, std::size_t n, float value);
  // Sum of e^(x - max): floats in sixteen lanes over a block, then one double, as exact as a sum in
  // double at the speed of floats.
  double (*sum_exp)(const float* x, std::size_t n, float max);
  // Whether any word of noise_words_block() reaches `lowest`; if so, they are put into
  // words[kNoiseBlock].
  bool (*noise_words)(std::uint64_t seed, std::int64_t position, std::int32_t first,
                      std::uint32_t lowest, std::uint32_t* words);
  // Of a whole block: bit g tells that a value of group g is at least `floor`. Of such groups, the
  // keys of the values (order_key) and their weights: e^(x - max), or 1 where max is a NaN.
  std::uint64_t (*weigh)(const float* x, float floor, float max, std::uint32_t* keys,
                         float* weights);
};

// The widest that this machine has, or those that were chosen.
const RowLoops& row_loops();
// All that it has, the narrowest first; and to have the sampler use others than the widest: for
// tests and benchmarks.
std::span<const RowLoops> all_row_loops();
void choose_row_loops(const RowLoops& loops);

// Unsigned integers in the order of the floats; both zeros are one value.
std::uint32_t order_key(float x);
float value_of_key(std::uint32_t key);

}  // namespace foretoken
