#include "base/rng.h"

#include <bit>
#include <cmath>

namespace foretoken {
namespace {

constexpr std::uint32_t kMul0 = 0xD2511F53U, kMul1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;

constexpr std::uint32_t kNoiseDomain = 0x67756d62U;  // keeps noise apart from other uses of a seed

std::array<std::uint32_t, 4> noise_counter(std::int64_t position, std::int32_t token) {
  const auto p = static_cast<std::uint64_t>(position);
  return {static_cast<std::uint32_t>(token) >> 2, static_cast<std::uint32_t>(p),
          static_cast<std::uint32_t>(p >> 32), kNoiseDomain};
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMul0} * c[0], p1 = std::uint64_t{kMul1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

// x = 2^e * m with m in [sqrt(1/2), sqrt(2)); log m by the odd series of atanh((m-1)/(m+1)), whose
// argument is at most 0.172, so five terms leave less than 2^-26.
float log_f32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<std::int32_t>(bits - 0x3f3504f3U) >> 23;  // rounds down
  const float m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23U));
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  float series = 1.0F / 9.0F;
  series = series * z + 1.0F / 7.0F;
  series = series * z + 1.0F / 5.0F;
  series = series * z + 1.0F / 3.0F;
  series = series * z;
  const float log_m = 2.0F * s + 2.0F * s * series;
  return static_cast<float>(exponent) * 0.69314718056F + log_m;
}

float gumbel_noise(std::uint64_t seed, std::int64_t position, std::int32_t token) {
  return gumbel_of_word(
      philox(noise_counter(position, token), seed)[static_cast<std::size_t>(token & 3)]);
}

float gumbel_of_word(std::uint32_t word) { return -log_f32(-log_f32(uniform24(word))); }

void gumbel_noise_block(std::uint64_t seed, std::int64_t position, std::int32_t first, int count,
                        float* out) {
  for (int i = 0; i < count; i += 4) {
    const auto words = philox(noise_counter(position, first + i), seed);
    for (int j = 0; j < 4 && i + j < count; ++j)
      out[i + j] = gumbel_of_word(words[static_cast<std::size_t>(j)]);
  }
}

// Sixteen counters side by side, so that the compiler can keep each round in vector registers.
void noise_words_block(std::uint64_t seed, std::int64_t position, std::int32_t first,
                       std::array<std::uint32_t, kNoiseBlock>& out) {
  constexpr std::size_t kLanes = kNoiseBlock / 4;
  const auto start = noise_counter(position, first);
  std::array<std::uint32_t, kLanes> c0, c1, c2, c3;
  for (std::size_t i = 0; i < kLanes; ++i) c0[i] = start[0] + static_cast<std::uint32_t>(i);
  c1.fill(start[1]);
  c2.fill(start[2]);
  c3.fill(start[3]);
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{kMul0} * c0[i], p1 = std::uint64_t{kMul1} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace foretoken
