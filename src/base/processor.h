#pragma once
// What differs between processors and has no name in the standard: a pause inside a loop that
// waits, and how a thread's floats treat denormals. Not which instructions a processor has: that
// is backend/cpu/table/isa.h. A mode is of the thread that sets it.

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#error "foretoken runs on x86-64 and on aarch64"
#endif

namespace foretoken {

#if defined(__x86_64__)

// MXCSR.
using FloatMode = unsigned;
inline constexpr FloatMode kFlushesDenormals = 0x8040U;  // results (FTZ) and operands (DAZ)
inline FloatMode float_mode() { return _mm_getcsr(); }
inline void set_float_mode(FloatMode mode) { _mm_setcsr(mode); }
inline void pause_in_wait() { _mm_pause(); }

#else

// FPCR, whose upper half means nothing.
using FloatMode = unsigned;
inline constexpr FloatMode kFlushesDenormals = 1U << 24U;  // FZ: results and operands
inline FloatMode float_mode() {
  unsigned long long mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode)::"memory");
  return static_cast<FloatMode>(mode);
}
inline void set_float_mode(FloatMode mode) {
  asm volatile("msr fpcr, %0" ::"r"(static_cast<unsigned long long>(mode)) : "memory");
}
inline void pause_in_wait() { asm volatile("isb"); }

#endif

}  // namespace foretoken
