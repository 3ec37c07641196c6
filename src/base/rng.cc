#include "base/rng.h"

#include <bit>
#include <cmath>

#include "base/philox_lanes.h"

namespace foretoken {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMul0} * c[0],
                        p1 = std::uint64_t{kPhiloxMul1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
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

void noise_words_block(std::uint64_t seed, std::int64_t position, std::int32_t first,
                       std::array<std::uint32_t, kNoiseBlock>& out) {
  philox_lanes(noise_counter(position, first), seed, out.data());
}

std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace foretoken
