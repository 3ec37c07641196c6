// The project's polynomials: powers, tanh and erf. numerics.md, src/backend/cpu/simd/v16.h and
// curves.h say the same.
const float kRoundMagic = 12582912.0;  // 1.5 * 2^23

float round_even(float a) { return sub(add(a, kRoundMagic), kRoundMagic); }

// a * 2^n for an integer n of -126 .. 0, 0 below 2^-126.
float shrink(float a, float n) {
  const uint bits = floatBitsToUint(a) + (uint(int(n)) << 23);
  return (bits & 0x7f800000u) == 0u || (bits & 0x80000000u) != 0u ? 0.0 : uintBitsToFloat(bits);
}

// 2^a of a number not above 0: with powers up to the third, and to the fifth.
float exp2_coarse(float a) {
  if (is_nan(a)) return a;
  const float all = -126.5 > a ? -126.5 : a, n = round_even(all), r = sub(all, n);
  float p = 5.500905781e-2;
  p = fma_once(p, r, 2.422109747e-1);
  p = fma_once(p, r, 6.932828980e-1);
  return shrink(fma_once(p, r, 1.0), n);
}
float exp2_fine(float a) {
  if (is_nan(a)) return a;
  const float all = -126.5 > a ? -126.5 : a, n = round_even(all), r = sub(all, n);
  float p = 1.320298232e-3;
  p = fma_once(p, r, 9.674951930e-3);
  p = fma_once(p, r, 5.551047383e-2);
  p = fma_once(p, r, 2.402216601e-1);
  p = fma_once(p, r, 6.931465959e-1);
  return shrink(fma_once(p, r, 1.0), n);
}

float exp_e(float a) {
  const float low = -87.33654, high = 88.72283;
  if (is_nan(a)) return a;
  if (a < low) return 0.0;
  if (high < a) return infinity();
  const float t = fma_once(a, 1.44269504, kRoundMagic), n = sub(t, kRoundMagic);
  float r = fma_once(n, -0.693359375, a);
  r = fma_once(n, 2.12194440e-4, r);
  float p = 1.9875691500e-4;
  p = fma_once(p, r, 1.3981999507e-3);
  p = fma_once(p, r, 8.3334519073e-3);
  p = fma_once(p, r, 4.1665795894e-2);
  p = fma_once(p, r, 1.6666665459e-1);
  p = fma_once(p, r, 5.0000001201e-1);
  p = add(fma_once(p, flushed(mul(r, r)), r), 1.0);
  return uintBitsToFloat(floatBitsToUint(p) + (floatBitsToUint(t) << 23));
}

float within(float a, float limit) {
  const float above = -limit > a ? -limit : a;
  return limit < above ? limit : above;  // NaN stays
}

float tanh_of(float a) {
  const float x = within(a, 7.90531110763549805), s = flushed(mul(x, x));
  float odd = -2.76076847742355e-16;
  odd = fma_once(odd, s, 2.00018790482477e-13);
  odd = fma_once(odd, s, -8.60467152213735e-11);
  odd = fma_once(odd, s, 5.12229709037114e-08);
  odd = fma_once(odd, s, 1.48572235717979e-05);
  odd = fma_once(odd, s, 6.37261928875436e-04);
  odd = fma_once(odd, s, 4.89352455891786e-03);
  float even = 1.19825839466702e-06;
  even = fma_once(even, s, 1.18534705686654e-04);
  even = fma_once(even, s, 2.26843463243900e-03);
  even = fma_once(even, s, 4.89352518554385e-03);
  return div(flushed(mul(x, odd)), even);
}

float erf_of(float a) {
  const float x = within(a, 3.832506856900711), s = flushed(mul(x, x));
  float odd = 2.2905065861350646e-4;
  odd = fma_once(odd, s, 3.4082910107109506e-3);
  odd = fma_once(odd, s, 5.0955695062380861e-2);
  odd = fma_once(odd, s, 1.8520832239976145e-1);
  odd = fma_once(odd, s, 1.128379143519084);
  float even = -1.1791602954361697e-7;
  even = fma_once(even, s, 2.3547966471313185e-5);
  even = fma_once(even, s, 1.0179625278914885e-3);
  even = fma_once(even, s, 1.4070470171167667e-2);
  even = fma_once(even, s, 1.1098505178285362e-1);
  even = fma_once(even, s, 4.9746925110067538e-1);
  even = fma_once(even, s, 1.0);
  return within(div(flushed(mul(x, odd)), even), 1.0);
}

float capped(float a, float cap, float inverse) { return mul(cap, tanh_of(mul(a, inverse))); }
