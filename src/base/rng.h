#pragma once
// Counter-based random numbers: pure functions of (seed, position, token), no state, no order of
// calls. That is what makes a sampled token independent of how many drafts were verified before it.
// Source: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// Same bits on every instruction set: integer arithmetic, and log_f32 below instead of libm.

#include <array>
#include <cstdint>

namespace foretoken {

// Ten rounds of Philox 4x32 on a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key);

// Uniform in (0, 1): an odd multiple of 2^-24, exact in float, so neither end occurs and -log(-log
// u) is bounded.
inline float uniform24(std::uint32_t bits) {
  return (static_cast<float>(bits >> 9) + 0.5F) * (1.0F / 8388608.0F);
}

// Natural logarithm of a positive normal float by one fixed polynomial (no libm), error below 2
// ulp.
float log_f32(float x);

// Gumbel noise of (request seed, absolute position of the sampled token, token id): -log(-log u).
// One Philox block serves four consecutive token ids.
float gumbel_noise(std::uint64_t seed, std::int64_t position, std::int32_t token);

// The same for tokens first .. first + count - 1 (first a multiple of 4), to `out`.
void gumbel_noise_block(std::uint64_t seed, std::int64_t position, std::int32_t first, int count,
                        float* out);

// The random words behind the noise of kNoiseBlock consecutive tokens (first a multiple of 4), for
// callers that can rule most tokens out by the word alone: the noise never falls as the word grows,
// up to rounding.
inline constexpr int kNoiseBlock = 64;

// The counter behind the noise of four tokens, of which this is one.
[[gnu::always_inline]] inline std::array<std::uint32_t, 4> noise_counter(std::int64_t position,
                                                                         std::int32_t token) {
  constexpr std::uint32_t kNoiseDomain =
      0x67756d62U;  // keeps noise apart from other uses of a seed
  const auto p = static_cast<std::uint64_t>(position);
  return {static_cast<std::uint32_t>(token) >> 2, static_cast<std::uint32_t>(p),
          static_cast<std::uint32_t>(p >> 32), kNoiseDomain};
}

void noise_words_block(std::uint64_t seed, std::int64_t position, std::int32_t first,
                       std::array<std::uint32_t, kNoiseBlock>& out);
float gumbel_of_word(std::uint32_t word);

// Upper bound of gumbel_noise over all inputs: -log(-log(1 - 2^-24)) = 16.64, rounded up.
inline constexpr float kMaxGumbelNoise = 16.7F;

// A 64-bit mix (splitmix64) for deriving seeds: of the i-th choice of a request, of dummy weights.
std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t index);

}  // namespace foretoken
