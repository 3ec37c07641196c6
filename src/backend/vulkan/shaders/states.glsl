#include "lanes.glsl"
// Layers that keep a state (backend/recurrent.h): a token before a row is a row of the step, an
// item of a page or a place in a page's tail. Its two upper bits say which, the others its number.
const uint kNothing = 0, kOfRow = 1, kOfItem = 2, kOfTail = 3;
uint kind_of(uint token) { return token >> 30; }
uint number_of(uint token) { return token & 0x3fffffffu; }

// c + a * b, multiplied and added apart.
float add_product(float c, float a, float b) { return flushed(add(c, flushed(mul(a, b)))); }

// Of sums of sixteen lanes, by halves.
float join_lanes(inout float sum[16]) {
  [[unroll]] for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint l = 0; l < half_; ++l) sum[l] = flushed(add(sum[l], sum[l + half_]));
  return sum[0];
}

float dot_of(Floats a, uint a_at, Floats b, uint b_at, uint count) {
  float sum[16];
  [[unroll]] for (uint l = 0; l < 16u; ++l) sum[l] = 0.0;
  for (uint start = 0; start < count; start += 16u)
    [[unroll]] for (uint l = 0; l < 16u; ++l)
      if (start + l < count)
        sum[l] = add_product(sum[l], a.v[a_at + start + l], b.v[b_at + start + l]);
  return join_lanes(sum);
}
