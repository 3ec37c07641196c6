#pragma once
// V16: sixteen float32 lanes as one __m512, two __m256, four float32x4_t or float[16], so that a
// kernel written once gives the same bits on every instruction set: every operation below is
// exactly rounded per lane, and horizontal ones use one fixed tree.
// For translation units of kernels only: each defines one of FT_V16_SCALAR, FT_V16_AVX2,
// FT_V16_AVX512, FT_V16_NEON before including this; everything lives in an anonymous namespace.
// Expects denormals to be flushed. Include no standard header with inline functions beside it (see
// kernels.h).
//
// Every variant defines:
//   V16 load(p)  load_n(p, n): lanes >= n are 0  set1(f)  zero()
//   void store(p, v)  store_n(p, v, n)
//   fma(a, b, c) = a * b + c rounded once   add sub mul div sqrt
//   max(a, b) = a > b ? a : b   min(a, b) = a < b ? a : b   (b where one is NaN)
//   M16 less(a, b)  less_equal(a, b)  is_nan(a)  lanes(bits)  select(m, a, b) = m ? a : b
//   round_even(a): to the nearest integer, ties to even
//   load_bf16(p)  store_bf16(p, v)  load_f16(p)  store_f16(p, v): 16 elements; rounding as in
//     tensor/float16.h
//   round_bf16(v): through bf16 and back
//   round_plain_bf16(v): the same of lanes that are 0 or normal; of NaN it makes anything
//   even_bf16(p), odd_bf16(p): elements 0, 2, .. 30 and 1, 3, .. 31 of p[32]
//   add_exponent(a, t): a * 2^n for t = n + kRoundMagic, n and the result in range
//   reduce_sum(a), reduce_max(a): lane i with i + 8, then + 4, + 2, + 1

#include <cstddef>
#include <cstdint>

#define FT_INLINE inline __attribute__((always_inline))
#define FT_UNROLL _Pragma("GCC unroll 16")

#include "backend/cpu/simd/one_lane.h"

#if defined(FT_V16_AVX512)
#include "backend/cpu/simd/v16_avx512.h"
#elif defined(FT_V16_AVX2)
#include "backend/cpu/simd/v16_avx2.h"
#elif defined(FT_V16_NEON)
#include "backend/cpu/simd/v16_neon.h"
#elif defined(FT_V16_SCALAR)
#include "backend/cpu/simd/v16_scalar.h"
#else
#error "define FT_V16_SCALAR, FT_V16_AVX2, FT_V16_AVX512 or FT_V16_NEON"
#endif

namespace foretoken {
namespace {

// How many V16 the register file holds.
#if defined(FT_V16_AVX512)
constexpr int kRegisters = 32;
#elif defined(FT_V16_AVX2) || defined(FT_V16_NEON)
constexpr int kRegisters = 8;
#else
constexpr int kRegisters = 4;
#endif
// As many as products of bf16 and of codes are made for. With FT_FEW_ROWS there are few forms of
// them, of few rows each, which compile in a third of the time and add the same numbers.
#if defined(FT_FEW_ROWS)
constexpr int kFormRegisters = kRegisters < 8 ? kRegisters : 8;
#else
constexpr int kFormRegisters = kRegisters;
#endif

// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the mantissa.
constexpr float kRoundMagic = 12582912.0F;

#if !defined(FT_V16_AVX512)  // which does these at once
// The integer nearest to an a not above 0 in its place, and what a had beyond it. What is below
// -126 may be taken for -126.5.
FT_INLINE V16 split_nearest(V16& a) {
  const V16 all = max(set1(-126.5F), a);  // NaN stays
  a = round_even(all);
  return sub(all, a);
}
// a * 2^n for 1/2 <= a < 2 and an integer n from -126 to 0, 0 where that is below 2^-126; NaN for
// NaN.
FT_INLINE V16 shrink(V16 a, V16 n) {
  const V16 y = add_exponent(a, add(n, set1(kRoundMagic)));
  return select(is_nan(a), a, select(less(y, set1(0x1p-126F)), zero(), y));
}

// The sum or maximum of each row, one to a lane.
FT_INLINE V16 reduce_rows_sum(const V16 (&rows)[16]) {
  float sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = reduce_sum(rows[i]);
  return load(sum);
}
FT_INLINE V16 reduce_rows_max(const V16 (&rows)[16]) {
  float most[16];
  for (int i = 0; i < 16; ++i) most[i] = reduce_max(rows[i]);
  return load(most);
}

// Rows and columns exchanged.
FT_INLINE void transpose(V16 (&rows)[16]) {
  float all[16][16];
  for (int i = 0; i < 16; ++i) {
    float row[16];
    store(row, rows[i]);
    for (int j = 0; j < 16; ++j) all[j][i] = row[j];
  }
  for (int i = 0; i < 16; ++i) rows[i] = load(all[i]);
}
#endif

// e^a within 2 ulp; 0 below log(2^-126), +inf above log(FLT_MAX), NaN for NaN.
// a = n log 2 + r; e^r by a polynomial of degree 7 (Cephes expf).
constexpr float kExpLow = -87.33654F;
FT_INLINE V16 exp_in_range(V16 x) {
  const V16 t = fma(x, set1(1.44269504F), set1(kRoundMagic));
  const V16 n = sub(t, set1(kRoundMagic));
  V16 r = fma(n, set1(-0.693359375F), x);
  r = fma(n, set1(2.12194440e-4F), r);
  V16 p = set1(1.9875691500e-4F);
  p = fma(p, r, set1(1.3981999507e-3F));
  p = fma(p, r, set1(8.3334519073e-3F));
  p = fma(p, r, set1(4.1665795894e-2F));
  p = fma(p, r, set1(1.6666665459e-1F));
  p = fma(p, r, set1(5.0000001201e-1F));
  p = add(fma(p, mul(r, r), r), set1(1.0F));
  return add_exponent(p, t);
}
FT_INLINE V16 exp(V16 a) {
  const V16 low = set1(kExpLow), high = set1(88.72283F);
  V16 y = exp_in_range(min(max(a, low), high));
  y = select(less(a, low), zero(), y);
  y = select(less(high, a), set1(__builtin_inff()), y);
  return select(is_nan(a), a, y);
}

// 2^r - 1 for -1/2 <= r <= 1/2, over r: the polynomials whose 1 + r * (...) has the least relative
// error, 2^-13.3 and 2^-23.8, the highest power first.
template <int Degree>
struct Exp2;
template <>
struct Exp2<3> {
  static constexpr float kOf[] = {5.500905781e-2F, 2.422109747e-1F, 6.932828980e-1F};
};
template <>
struct Exp2<5> {
  static constexpr float kOf[] = {1.320298232e-3F, 9.674951930e-3F, 5.551047383e-2F,
                                  2.402216601e-1F, 6.931465959e-1F};
};

// 2^a of N x 16 numbers that are not above 0, or NaN: within 3 ulp of degree 5, 2^-13 of degree 3;
// 0 below -126, so that the result is 0 or normal. Several are computed step by step, because none
// of a step waits for another.
template <int Degree, int N>
FT_INLINE void exp2_not_above_zero(V16 (&a)[N]) {
  V16 r[N], p[N];
  const auto each = [](auto step) {
    FT_UNROLL
    for (int i = 0; i < N; ++i) step(i);
  };
  each([&](int i) { r[i] = split_nearest(a[i]); });
  each([&](int i) { p[i] = set1(Exp2<Degree>::kOf[0]); });
  FT_UNROLL
  for (int power = 1; power < Degree; ++power)
    each([&](int i) { p[i] = fma(p[i], r[i], set1(Exp2<Degree>::kOf[power])); });
  each([&](int i) { p[i] = fma(p[i], r[i], set1(1.0F)); });
  each([&](int i) { a[i] = shrink(p[i], a[i]); });
}
template <int Degree = 5>
FT_INLINE V16 exp2_not_above_zero(V16 a) {
  V16 one[1] = {a};
  exp2_not_above_zero<Degree>(one);
  return one[0];
}

// Through bf16 and back, of lanes that are 0 or normal and below 2^112; of -0 it makes +0.
// Beside 65536 a the grid of float32 is that of bf16 beside a, and a tie's neighbours keep their
// parity. (The difference is taken, not the sum: at the top of a binade the sum would leave it.)
FT_INLINE V16 round_small_bf16(V16 a) { return fma(a, set1(65536.0F), fma(a, set1(-65536.0F), a)); }

}  // namespace
}  // namespace foretoken
