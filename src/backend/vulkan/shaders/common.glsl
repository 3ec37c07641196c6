// What the shaders share: memory by address, bf16, arithmetic whose bits are those of the CPU.
// Every sum and product stands in a function of its own with a precise result, so that no compiler
// joins or reorders them. DOUBLES: fma of the device is not known to be fused.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints { int v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 v[]; };

float infinity() { return uintBitsToFloat(0x7f800000u); }

float add(float a, float b) { precise float r = a + b; return r; }
float sub(float a, float b) { precise float r = a - b; return r; }
float mul(float a, float b) { precise float r = a * b; return r; }
float absolute(float a) { return uintBitsToFloat(floatBitsToUint(a) & 0x7fffffffu); }
bool is_nan(float a) { return (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u; }

// Denormals become zeros, as on the CPU.
float flushed(float a) {
  const uint bits = floatBitsToUint(a);
  return (bits & 0x7f800000u) == 0u ? uintBitsToFloat(bits & 0x80000000u) : a;
}

// a * b + c, of a product that float32 holds exactly (of two bf16): fused or not, the same bits.
float fma_exact(float a, float b, float c) { precise float r = fma(a, b, c); return r; }

// a * b + c rounded once.
#ifdef DOUBLES
// The product is exact in a double; the sum is rounded to odd, so that rounding it once more, to
// float32, is as rounding once.
float fma_once(float a, float b, float c) {
  precise double p = double(a) * double(b), x = double(c);
  precise double s = p + x;
  precise double from_x = s - p;
  precise double from_p = s - from_x;
  precise double lost_x = x - from_x;
  precise double lost_p = p - from_p;
  precise double lost = lost_x + lost_p;
  uvec2 bits = unpackDouble2x32(s);
  const bool is_finite = (bits.y & 0x7ff00000u) != 0x7ff00000u;
  if (is_finite && lost != 0.0lf && (bits.x & 1u) == 0u) {
    // The neighbour of s on the side of what was lost: away from zero where signs agree.
    if ((lost > 0.0lf) == (s > 0.0lf)) {
      bits.x += 1u;  // even, so nothing is carried
    } else {
      bits.y -= bits.x == 0u ? 1u : 0u;
      bits.x -= 1u;
    }
    s = packDouble2x32(bits);
  }
  return flushed(float(s));
}
#else
float fma_once(float a, float b, float c) { precise float r = fma(a, b, c); return flushed(r); }
#endif

// A device's quotients and roots may be some units off (Vulkan allows 2.5): they are the guess from
// which the float nearest to the right number is found. Arguments and results are never denormal.
bool is_ordinary(float a) {
  const uint exponent = floatBitsToUint(a) & 0x7f800000u;
  return exponent != 0u && exponent != 0x7f800000u;
}
float next_up(float a) { return uintBitsToFloat(floatBitsToUint(a) + 1u); }    // of a number above 0
float next_down(float a) { return uintBitsToFloat(floatBitsToUint(a) - 1u); }  // the same

float div(float a, float b) {
  a = flushed(a);
  b = flushed(b);
  precise float special = a / b;
  if (!is_ordinary(a) || !is_ordinary(b)) return special;
  // Of m and n in [1, 2) the quotient q has a rest m - q * n that a float holds.
  const uint x = floatBitsToUint(a), y = floatBitsToUint(b);
  const float m = uintBitsToFloat((x & 0x7fffffu) | 0x3f800000u);
  const float n = uintBitsToFloat((y & 0x7fffffu) | 0x3f800000u);
  precise float guess = m / n, inverse = 1.0 / n;
  const float q = fma_once(fma_once(-n, guess, m), inverse, guess);
  const float rest = fma_once(-n, q, m);
  const float other = rest > 0.0 ? next_up(q) : next_down(q);
  const float nearest = absolute(fma_once(-n, other, m)) < absolute(rest) ? other : q;
  const int exponent =
      int(floatBitsToUint(nearest) >> 23) + int((x >> 23) & 0xffu) - int((y >> 23) & 0xffu);
  const uint sign = (x ^ y) & 0x80000000u;
  if (exponent >= 255) return uintBitsToFloat(sign | 0x7f800000u);
  if (exponent <= 0) return uintBitsToFloat(sign);
  return uintBitsToFloat(sign | (uint(exponent) << 23) | (floatBitsToUint(nearest) & 0x7fffffu));
}

// Of a number that is not below 0.
float square_root(float a) {
  a = flushed(a);
  precise float special = sqrt(a);
  if (!is_ordinary(a) || a < 0.0) return special;
  // Of m in [1, 4): the largest s with s * s <= m, then the nearer one of s and its neighbour.
  const uint x = floatBitsToUint(a), odd = ((x >> 23) + 1u) & 1u;
  const float m = uintBitsToFloat((x & 0x7fffffu) | ((127u + odd) << 23));
  precise float guess = sqrt(m);
  float s = uintBitsToFloat(floatBitsToUint(guess) - 4u);
  for (uint i = 0; i < 8u; ++i) {
    const float next = next_up(s);
    if (fma_once(-next, next, m) >= 0.0) s = next;
  }
  if (fma_once(-s, s, m) > mul(s, 1.1920928955078125e-7)) s = next_up(s);
  const int half_ = (int(x >> 23) - 127 - int(odd)) / 2;
  return uintBitsToFloat(uint(int(floatBitsToUint(s)) + half_ * 8388608));
}

// Blocks of 32 bf16 of `columns` columns lie so that 32 lanes, of a block each, read memory that
// is in one piece: of 32 blocks (fewer at the end) [quad of 8 elements][column][block].
// Where element k of a column lies, in words.
uint word_of(uint k, uint column, uint columns, uint blocks) {
  const uint block = k / 32u, start = block / 32u * 32u, many = min(32u, blocks - start);
  const uint quad = k % 32u / 8u;
  return ((start * 4u + quad * many) * columns + column * many + block - start) * 4u + k % 8u / 2u;
}

float low_half(uint pair) { return uintBitsToFloat(pair << 16); }
float high_half(uint pair) { return uintBitsToFloat(pair & 0xffff0000u); }

// To bf16, to nearest even; NaN stays, denormals become zeros.
uint bf16_bits(float a) {
  const uint bits = floatBitsToUint(a), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (bits >> 16) | 0x40u;
  if (magnitude < 0x00800000u) return (bits >> 16) & 0x8000u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
float round_bf16(float a) { return uintBitsToFloat(bf16_bits(a) << 16); }
uint bf16_pair(float low, float high) { return bf16_bits(low) | (bf16_bits(high) << 16); }
