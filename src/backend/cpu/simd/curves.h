#pragma once
// Functions of sixteen lanes that only few models need: tanh and erf as quotients of polynomials in
// x^2, the same bits on every instruction set. For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

// p[0] x^n + .. + p[n], by fused multiply-adds.
template <int N>
FT_INLINE V16 polynomial(const float (&p)[N], V16 x) {
  V16 sum = set1(p[0]);
  FT_UNROLL
  for (int i = 1; i < N; ++i) sum = fma(sum, x, set1(p[i]));
  return sum;
}

// a within +-limit; NaN stays.
FT_INLINE V16 within(V16 a, float limit) { return min(set1(limit), max(set1(-limit), a)); }

// tanh(a) within 5 ulp, below 1 everywhere; NaN for NaN.
FT_INLINE V16 tanh_of(V16 a) {
  constexpr float kOdd[] = {-2.76076847742355e-16F, 2.00018790482477e-13F, -8.60467152213735e-11F,
                            5.12229709037114e-08F,  1.48572235717979e-05F, 6.37261928875436e-04F,
                            4.89352455891786e-03F};
  constexpr float kEven[] = {1.19825839466702e-06F, 1.18534705686654e-04F, 2.26843463243900e-03F,
                             4.89352518554385e-03F};
  const V16 x = within(a, 7.90531110763549805F), square = mul(x, x);
  return div(mul(x, polynomial(kOdd, square)), polynomial(kEven, square));
}

// erf(a) within 5 ulp; NaN for NaN.
FT_INLINE V16 erf_of(V16 a) {
  constexpr float kOdd[] = {2.2905065861350646e-4F, 3.4082910107109506e-3F, 5.0955695062380861e-2F,
                            1.8520832239976145e-1F, 1.128379143519084F};
  constexpr float kEven[] = {-1.1791602954361697e-7F,
                             2.3547966471313185e-5F,
                             1.0179625278914885e-3F,
                             1.4070470171167667e-2F,
                             1.1098505178285362e-1F,
                             4.9746925110067538e-1F,
                             1.0F};
  const V16 x = within(a, 3.832506856900711F), square = mul(x, x);
  return within(div(mul(x, polynomial(kOdd, square)), polynomial(kEven, square)), 1.0F);
}

}  // namespace
}  // namespace foretoken
