#pragma once
// Philox with sixteen counters side by side, so that a compiler can keep each round in vector
// registers, of whatever width the function has that this is inlined into. See rng.h.

#include <array>
#include <cstddef>
#include <cstdint>

namespace foretoken {

inline constexpr std::uint32_t kPhiloxMul0 = 0xD2511F53U, kPhiloxMul1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9U, kPhiloxWeyl1 = 0xBB67AE85U;

// Of the counters start, start + 1 in the first word, ...: 64 words to `out`, four by four.
[[gnu::always_inline]] inline void philox_lanes(const std::array<std::uint32_t, 4>& start,
                                                std::uint64_t key, std::uint32_t* out) {
  constexpr std::size_t kLanes = 16;
  std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    c0[i] = start[0] + static_cast<std::uint32_t>(i);
    c1[i] = start[1];
    c2[i] = start[2];
    c3[i] = start[3];
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{kPhiloxMul0} * c0[i];
      const std::uint64_t p1 = std::uint64_t{kPhiloxMul1} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

}  // namespace foretoken
