#pragma once
// What one lane is computed with where C++ has no name for it, or leaves denormals to the compiler:
// square roots, maxima, rounding, half floats; and prefetches. The same bits on x86-64 and aarch64.
// For translation units of kernels only (v16.h).
//
//   sqrt1(a)  max1(a, b) = a > b ? a : b  min1(a, b) = a < b ? a : b: flushed as the operands are
//   round1(a): to the nearest integer, ties to even    int1(a): the same as an int32
//   from_f16(bits)  to_f16(a): IEEE half floats, rounded to nearest even; their denormals stay

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

namespace foretoken {
namespace {

#if defined(__x86_64__)

FT_INLINE float sqrt1(float a) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a))); }
FT_INLINE float max1(float a, float b) {
  return _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(a), _mm_set_ss(b)));
}
FT_INLINE float min1(float a, float b) {
  return _mm_cvtss_f32(_mm_min_ss(_mm_set_ss(a), _mm_set_ss(b)));
}
FT_INLINE float round1(float a) {
  const __m128 x = _mm_set_ss(a);
  return _mm_cvtss_f32(_mm_round_ss(x, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
FT_INLINE std::int32_t int1(float a) { return _mm_cvtss_si32(_mm_set_ss(a)); }
FT_INLINE float from_f16(std::uint16_t bits) { return _cvtsh_ss(bits); }
FT_INLINE std::uint16_t to_f16(float a) {
  return _cvtss_sh(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
FT_INLINE void prefetch_l1(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}
FT_INLINE void prefetch_l2(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
}

#else

FT_INLINE float sqrt1(float a) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(a)), 0); }
// A choice between operands leaves a denormal as it is; a product by a 1 that the compiler does not
// know does not.
FT_INLINE float flushed1(float a) {
  float one = 1.0F;
  asm("" : "+w"(one));
  return a * one;
}
FT_INLINE float max1(float a, float b) { return flushed1(a > b ? a : b); }
FT_INLINE float min1(float a, float b) { return flushed1(a < b ? a : b); }
FT_INLINE float round1(float a) { return vget_lane_f32(vrndn_f32(vdup_n_f32(a)), 0); }
FT_INLINE std::int32_t int1(float a) { return vcvtns_s32_f32(a); }
FT_INLINE float from_f16(std::uint16_t bits) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}
FT_INLINE std::uint16_t to_f16(float a) {
  return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(a))), 0);
}
FT_INLINE void prefetch_l1(const void* p) { __builtin_prefetch(p, 0, 3); }
FT_INLINE void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

#endif

}  // namespace
}  // namespace foretoken
