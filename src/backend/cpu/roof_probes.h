#pragma once
// The machine's limits in the instruction set of this translation unit: multiply-adds without
// memory and memory without arithmetic. Measured by roof.h. For translation units of kernels only
// (v16.h).

#include "backend/cpu/v16.h"

namespace foretoken {
namespace {

// Makes the compiler believe that the value is used and may have changed.
#if defined(FT_V16_AVX512)
FT_INLINE void keep(V16& a) { asm volatile("" : "+v"(a.v)); }
#elif defined(FT_V16_AVX2)
FT_INLINE void keep(V16& a) { asm volatile("" : "+x"(a.lo), "+x"(a.hi)); }
#else
FT_INLINE void keep(V16& a) {
  for (float& lane : a.v) asm volatile("" : "+x"(lane));
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

inline void read_stream(const void* data, std::int64_t bytes) {
  constexpr std::int64_t kStep = 1024, kAhead = 2048;
  const char* p = static_cast<const char*>(data);
  for (std::int64_t i = 0; i < bytes; i += kStep) {
    FT_UNROLL
    for (int line = 0; line < kStep; line += 64) {
      prefetch_l1(p + i + line + kAhead);
      V16 a = load(reinterpret_cast<const float*>(p + i + line));
      keep(a);
    }
  }
}

}  // namespace
}  // namespace foretoken
