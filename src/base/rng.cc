#include "base/rng.h"

#include <bit>
#include <cmath>

namespace foretoken {
namespace {

constexpr std::uint32_t kMul0 = 0xD2511F53U, kMul1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;

float gumbel_of(std::uint32_t bits) { return -log_f32(-log_f32(uniform24(bits))); }

std::array<std::uint32_t, 4> noise_counter(std::int64_t position, std::int32_t token) {
  const auto p = static_cast<std::uint64_t>(position);
  return {static_cast<std::uint32_t>(token) >> 2, static_cast<std::uint32_t>(p),
          static_cast<std::uint32_t>(p >> 32), 0x67756d62U};
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
  int exponent = static_cast<int>((bits - 0x3f3504f3U) >> 23U);
  if (bits < 0x3f3504f3U) exponent = -static_cast<int>((0x3f3504f3U - bits + 0x7fffffU) >> 23U);
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
  return gumbel_of(
      philox(noise_counter(position, token), seed)[static_cast<std::size_t>(token & 3)]);
}

void gumbel_noise_block(std::uint64_t seed, std::int64_t position, std::int32_t first, int count,
                        float* out) {
  for (int i = 0; i < count; i += 4) {
    const auto words = philox(noise_counter(position, first + i), seed);
    for (int j = 0; j < 4 && i + j < count; ++j)
      out[i + j] = gumbel_of(words[static_cast<std::size_t>(j)]);
  }
}

std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace foretoken
