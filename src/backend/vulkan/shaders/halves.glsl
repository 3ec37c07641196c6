// Floats with the five bits of exponent of an fp16, by integers: what a device's conversions make
// of denormals is its own.

// Of the upper bits of an fp16, rounded to nearest even; below the least normal number a sum leaves
// the multiple of the last place in its low bits. Without the sign.
uint small_float(float a, uint mantissa) {
  const uint magnitude = floatBitsToUint(a) & 0x7fffffffu, dropped = 23u - mantissa;
  const uint odd = (magnitude >> dropped) & 1u;
  const uint rounded = (magnitude + (1u << (dropped - 1u)) - 1u + odd) >> dropped;
  const uint normal = rounded - (112u << mantissa);
  const float last_places = uintBitsToFloat((136u - mantissa) << 23);  // 2^(9 - mantissa)
  const uint small =
      floatBitsToUint(add(uintBitsToFloat(magnitude), last_places)) - floatBitsToUint(last_places);
  return magnitude < 0x38800000u ? small : normal;
}
uint f16_bits(float a) {
  const uint bits = floatBitsToUint(a), magnitude = bits & 0x7fffffffu;
  const uint sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  return sign | small_float(a, 10u);
}
float f16_value(uint bits) {
  const uint magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const uint normal = magnitude >= 0x7c00u ? 0x7f800000u | ((magnitude & 0x3ffu) << 13)
                                           : (magnitude << 13) + (112u << 23);
  const float small = mul(float(magnitude), 5.9604644775390625e-8);  // 2^-24
  return uintBitsToFloat((magnitude < 0x400u ? floatBitsToUint(small) : normal) | sign);
}
