// The sampler's arithmetic (batch/lanes.h) and what layers that keep a state make of it: multiplies
// and adds apart.
float exp_nonpositive(float x) {
  const bool vanishes = !(x >= -87.0);
  const float bounded = vanishes ? -87.0 : x;
  const float shifted = add(mul(bounded, 1.44269504), 12582912.0);
  const float n = sub(shifted, 12582912.0);
  const float r = flushed(sub(flushed(sub(bounded, mul(n, 0.693145752))), mul(n, 1.42860677e-6)));
  float p = 1.38888892e-3;
  p = add(mul(p, r), 8.33333377e-3);
  p = add(mul(p, r), 4.16666679e-2);
  p = add(mul(p, r), 1.66666672e-1);
  p = add(mul(p, r), 0.5);
  p = add(mul(p, r), 1.0);
  p = add(mul(p, r), 1.0);
  return vanishes ? 0.0 : uintBitsToFloat(floatBitsToUint(p) + (floatBitsToUint(shifted) << 23));
}

float logistic(float x) {
  const float e = exp_nonpositive(sub(0.0, absolute(x)));
  return flushed(div(x < 0.0 ? e : 1.0, add(1.0, e)));
}

// log(1 + e^x) = max(x, 0) + log(1 + e) with e = e^-|x|: twice the series of atanh.
float softplus(float x) {
  const float e = exp_nonpositive(sub(0.0, absolute(x))), s = flushed(div(e, add(2.0, e)));
  const float t = flushed(mul(s, s));
  float p = 6.66666701e-2;
  p = add(mul(p, t), 7.69230798e-2);
  p = add(mul(p, t), 9.09090936e-2);
  p = add(mul(p, t), 1.11111112e-1);
  p = add(mul(p, t), 1.42857149e-1);
  p = add(mul(p, t), 2.00000003e-1);
  p = add(mul(p, t), 3.33333343e-1);
  p = add(mul(p, t), 1.0);
  return add(x < 0.0 ? 0.0 : x, flushed(mul(flushed(mul(2.0, s)), p)));
}
