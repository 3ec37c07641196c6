#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "halves.glsl"
// Rows of float32 -> rows of fp16 for matrix units, with zeros behind the last of `width` up to a
// multiple of 32. A row is first multiplied by a power of two, which brings its greatest magnitude
// to 2^14 .. 2^15, so nothing overflows; products are divided by it. It depends on the row alone.
layout(local_size_x = 64) in;
const uint kLanes = 64;
layout(push_constant) uniform Call {
  Floats x;
  Words to;        // [rows][words]
  Floats factors;  // [rows]: what products are multiplied by
  uint width, stride, words;
} call;

shared uint greatest[kLanes];

float power_of_two(int exponent) { return uintBitsToFloat(uint(127 + exponent) << 23); }

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
  uint most = 0u;  // magnitudes are ordered as their bits are
  for (uint k = t; k < call.width; k += kLanes)
    most = max(most, floatBitsToUint(flushed(call.x.v[row * call.stride + k])) & 0x7fffffffu);
  greatest[t] = most;
  barrier();
  for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    if (t < half_) greatest[t] = max(greatest[t], greatest[t + half_]);
    barrier();
  }
  most = greatest[0];
  const bool is_number = most != 0u && most < 0x7f800000u;
  const int shift = is_number ? clamp(14 - (int(most >> 23) - 127), -100, 100) : 0;
  const float factor = power_of_two(shift);
  for (uint w = t; w < call.words; w += kLanes) {
    uint both = 0u;
    for (uint i = 0; i < 2u; ++i) {
      const uint k = 2u * w + i;
      if (k >= call.width) continue;
      const float x = flushed(mul(flushed(call.x.v[row * call.stride + k]), factor));
      both |= f16_bits(x) << (16u * i);
    }
    call.to.v[row * call.words + w] = both;
  }
  if (t == 0u) call.factors.v[row] = power_of_two(-shift);
}
