// How rows of float32 become codes of 8 bits (numerics.md): limits, the nearest integer, and where
// the codes go.
const float kLeast = 7.888609052210118e-31;  // 2^-100; where nothing is as large all codes are 0
const uint kInfinite = 0x7f800000u;
const uint kNoNumber = 0x7fc00000u;  // the scale of a group that is not finite

// Bits that rise with the magnitude; those of NaN and infinity are above all.
uint magnitude_bits(float x) { return floatBitsToUint(x) & 0x7fffffffu; }

// Of |x| < 2^22 the nearest integer, ties to even.
int nearest(float x) { return int(sub(add(x, 12582912.0), 12582912.0)); }

// The word of element `k` and the three behind it in [rows][32 blocks][quad of 8 codes][block].
uint word_of_codes(uint row, uint blocks, uint k) {
  const uint block = k / 32u, start = block / 32u * 32u, many = min(32u, blocks - start);
  const uint quad = (row * blocks + start) * 4u + k % 32u / 8u * many + block - start;
  return 2u * quad + k % 8u / 4u;
}
