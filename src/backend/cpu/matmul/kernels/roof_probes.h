#pragma once
// The machine's limits in the instruction set of this translation unit: multiply-adds without
// memory and memory without arithmetic. Measured by roof.h. For translation units of kernels only
// (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

// Makes the compiler believe that the value is used and may have changed.
#if defined(FT_V16_AVX512)
FT_INLINE void keep(V16& a) { asm volatile("" : "+v"(a.v)); }
#elif defined(FT_V16_AVX2)
FT_INLINE void keep(V16& a) { asm volatile("" : "+x"(a.lo), "+x"(a.hi)); }
#elif defined(FT_V16_NEON)
FT_INLINE void keep(V16& a) { asm volatile("" : "+w"(a.v0), "+w"(a.v1), "+w"(a.v2), "+w"(a.v3)); }
#elif defined(__x86_64__)
FT_INLINE void keep(V16& a) {
  for (float& lane : a.v) asm volatile("" : "+x"(lane));
}
#else
FT_INLINE void keep(V16& a) {
  for (float& lane : a.v) asm volatile("" : "+w"(lane));
}
#endif

inline double fma_peak(int rounds) {
  constexpr int kChains = kRegisters == 32 ? 16 : kRegisters == 8 ? 6 : 1;
  V16 acc[kChains];
  FT_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = zero();
  V16 a = set1(1.0F);
  keep(a);
  for (int round = 0; round < rounds; ++round) {
    FT_UNROLL
    for (int i = 0; i < kChains; ++i) {
      acc[i] = fma(a, a, acc[i]);
      keep(acc[i]);
    }
  }
  return rounds * double{kChains} * 32;
}

// In two halves that take turns: memory brings two streams faster than one.
inline void read_streams(const void* data, std::int64_t bytes) {
  constexpr std::int64_t kStep = 256, kAhead = 1024;
  const char* const first = static_cast<const char*>(data);
  const std::int64_t half = bytes / 2;
  for (std::int64_t i = 0; i < half; i += kStep)
    for (int side = 0; side < 2; ++side) {
      const char* const p = first + side * half + i;
      FT_UNROLL
      for (int line = 0; line < kStep; line += 64) {
        prefetch_l1(p + line + kAhead);
        V16 a = load(reinterpret_cast<const float*>(p + line));
        keep(a);
      }
    }
}

}  // namespace
}  // namespace foretoken
