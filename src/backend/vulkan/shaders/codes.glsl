// Weights of codes, as vulkan_codes.h lays them out in blocks of 32 k. Who includes this has a
// `call` with blocks and blocks_per_scale, and WEIGHTS with codes, scales, minima, multiples, zeros
// (Words).
//
//   codes      of a block and a column BITS words: of each code the low bits, of all 32 together;
//              then its high bits. [groups][32 blocks][word][column][block]
//   scales     [groups][scales][column], of SCALE; and minima, of float16
//   multiples  [groups][blocks][column]: 16 bits, those of the scale and of the minimum
//   zeros      [groups][scales], a byte a column

// What the weights are, as VulkanCodes::kind() says.
layout(constant_id = 0) const uint KIND = 0x41;
const uint ROWS = KIND & 15u;
const uint BITS = (KIND >> 4u) & 15u;
const uint SCALE = (KIND >> 8u) & 3u;
const bool HAS_MINIMA = (KIND & 0x400u) != 0u;
const bool HAS_SUPER = (KIND & 0x800u) != 0u;
const bool HAS_HALVES = (KIND & 0x1000u) != 0u;  // groups of 16
const uint LIST = (KIND >> 13u) & 3u;
const bool IS_FLOAT = (KIND & 0x8000u) != 0u;
const bool HAS_ZEROS = (KIND & 0x10000u) != 0u;
const bool IS_BLOCKED = (KIND & 0x20000u) != 0u;
const bool ROUNDS_INPUT = (KIND & 0x40000u) != 0u;

const uint kF16 = 0, kBF16 = 1, kF32 = 2;  // SCALE
const uint kIq4Nl = 1, kE2M1 = 2;          // LIST
const uint kCols = 4;                      // of a group
const uint kParts = HAS_HALVES ? 2u : 1u;  // of a block
const uint kMostWords = 8;
const uint kLow = BITS >= 4u ? 4u : 2u, kHigh = BITS - kLow;
const int kZero = IS_FLOAT || HAS_MINIMA || LIST != 0u ? 0 : 1 << (BITS - 1u);

// Exactly, whatever the device makes of small ones.
float half_float(uint bits) {
  const uint magnitude = bits & 0x7fffu;
  float value = uintBitsToFloat((magnitude << 13u) + 0x38000000u);
  if (magnitude < 0x400u) value = mul(float(magnitude), 5.9604644775390625e-8);
  if (magnitude >= 0x7c00u) value = uintBitsToFloat((magnitude << 13u) + 0x70000000u);
  return uintBitsToFloat(floatBitsToUint(value) | (bits & 0x8000u) << 16u);
}
float e4m3_float(uint code) {
  const uint magnitude = code & 0x7fu;
  float value = uintBitsToFloat((magnitude << 20u) + 0x3c000000u);
  if (magnitude < 8u) value = mul(float(magnitude), 1.953125e-3);
  return uintBitsToFloat(floatBitsToUint(value) | (code & 0x80u) << 24u);
}

int byte_of(uint word, uint i) { return bitfieldExtract(int(word), int(8u * i), 8); }
uint half_of(uint word, uint i) { return bitfieldExtract(word, int(16u * i), 16); }

// backend/listed_codes.h, four to a word. Scalars: drivers differ in how they choose among constant
// vectors.
int listed(uint code) {
  const bool is_iq4 = LIST == kIq4Nl;
  const uint first = is_iq4 ? 0xbfad9881u : 0x03020100u, second = is_iq4 ? 0xf6eaddcfu : 0x0c080604u;
  const uint third = is_iq4 ? 0x26190d01u : 0xfdfeff00u, fourth = is_iq4 ? 0x71594535u : 0xf4f8fafcu;
  const uint low = code < 4u ? first : second, high = code < 12u ? third : fourth;
  return byte_of(code < 8u ? low : high, code & 3u);
}

// The number that a code stands for, where it is an integer.
int integer_of(uint code, int zero) { return LIST != 0u ? listed(code) : int(code) - zero; }
float number_of(uint code, int zero) {
  return IS_FLOAT ? e4m3_float(code) : float(integer_of(code, zero));
}

// Code k of a block that has these bits of it: the k-th of the words' low and high parts.
uint low_word(uint k) { return k * kLow / 32u; }
uint high_word(uint k) { return min(kLow + k * kHigh / 32u, kMostWords - 1u); }
uint code_of(uint low, uint high, uint k) {
  uint code = (low >> (k * kLow % 32u)) & ((1u << kLow) - 1u);
  if (kHigh > 0u) code |= ((high >> (k * kHigh % 32u)) & ((1u << kHigh) - 1u)) << kLow;
  return code;
}
// Where word `word` of a column's block lies.
uint code_place(uint group, uint start, uint many, uint word, uint column, uint lane) {
  return ((group * call.blocks + start) * BITS + word * many) * kCols + column * many + lane;
}

uint scales_of_row() { return (call.blocks + call.blocks_per_scale - 1u) / call.blocks_per_scale; }
uint scale_place(uint group, uint block, uint column) {
  return (group * scales_of_row() + block / call.blocks_per_scale) * kCols + column;
}
// The multiple of half `part` of a block, of the scale (0) or of the minimum (1). Where there are
// minima of halves, each has four bits.
int multiple_of(uint group, uint block, uint column, uint part, uint which) {
  const uint place = (group * call.blocks + block) * kCols + column;
  const uint both = half_of(WEIGHTS.multiples.v[place / 2u], place & 1u);
  if (HAS_HALVES && HAS_MINIMA) return int((both >> (8u * part + 4u * which)) & 15u);
  return byte_of(both, HAS_HALVES ? part : which);
}
// The scale and the minimum as they are stored: of a group or of a super.
float stored_scale(uint group, uint block, uint column) {
  const uint place = scale_place(group, block, column);
  if (SCALE == kF32) return uintBitsToFloat(WEIGHTS.scales.v[place]);
  const uint bits = half_of(WEIGHTS.scales.v[place / 2u], place & 1u);
  return SCALE == kBF16 ? uintBitsToFloat(bits << 16u) : half_float(bits);
}
float stored_minimum(uint group, uint block, uint column) {
  const uint place = scale_place(group, block, column);
  return half_float(half_of(WEIGHTS.minima.v[place / 2u], place & 1u));
}
// Those of a half of a block; the products are exact.
float scale_of(uint group, uint block, uint column, uint part) {
  const float scale = stored_scale(group, block, column);
  return HAS_SUPER ? mul(scale, float(multiple_of(group, block, column, part, 0u))) : scale;
}
float minimum_of(uint group, uint block, uint column, uint part) {
  if (!HAS_MINIMA) return 0.0;
  const float minimum = stored_minimum(group, block, column);
  return HAS_SUPER ? mul(minimum, float(multiple_of(group, block, column, part, 1u))) : minimum;
}
int zero_of(uint group, uint block, uint column) {
  if (!HAS_ZEROS) return kZero;
  const uint word = WEIGHTS.zeros.v[scale_place(group, block, column) / kCols];
  return int(bitfieldExtract(word, int(8u * column), 8));
}

// Code times scale, plus minimum. Of blocks the product is exact, and a product of 0 is +0: the sum
// with a minimum of 0, which compilers leave out.
float weight_of(uint code, int zero, float scale, float minimum) {
  const float number = number_of(code, zero);
  if (HAS_MINIMA) return fma_exact(number, scale, minimum);
  const float product = mul(number, scale);
  const bool is_zero = (floatBitsToUint(product) & 0x7fffffffu) == 0u;
  return IS_BLOCKED && is_zero ? 0.0 : product;
}
