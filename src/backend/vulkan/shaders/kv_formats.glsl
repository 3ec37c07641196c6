// How keys and values are kept, by KIND: floats, or codes of 8 bits with a scale for each row (one
// token, one KV head). backend/kv_codes.h says what codes mean. Cache of a layer:
//
//   k  [pages][kv_heads][words][16 slots]   a word: 1, 2 or 4 dimensions of a slot
//   v  [pages][kv_heads][16 slots][words]   the same
//   scales of codes [pages][kv_heads][16 slots]
#include "halves.glsl"
const uint kKvBf16 = 0, kKvF16 = 1, kKvInt8 = 2, kKvE4M3 = 3, kKvE5M2 = 4, kKvF32 = 5;
const uint kPageTokens = 16;

bool is_code(uint kind) { return kind >= kKvInt8 && kind <= kKvE5M2; }
uint per_word(uint kind) { return is_code(kind) ? 4u : kind == kKvF32 ? 1u : 2u; }

// What a code stands for, before its scale.
float code_value(uint kind, uint code) {
  if (kind == kKvInt8) return float(int(code << 24) >> 24);
  return f16_value(kind == kKvE5M2 ? code << 8 : ((code & 0x7fu) << 7) | ((code & 0x80u) << 8));
}
// The code nearest to a value that is not beyond the last one.
uint code_of(uint kind, float a) {
  if (kind == kKvInt8) return floatBitsToUint(add(a, 12582912.0)) & 0xffu;  // 1.5 * 2^23
  return small_float(a, kind == kKvE4M3 ? 3u : 2u) | ((floatBitsToUint(a) >> 24) & 0x80u);
}
float last_code(uint kind) { return kind == kKvInt8 ? 127.0 : kind == kKvE4M3 ? 1.75 : 57344.0; }

// Element i of a word; of codes before their scale.
float element_of(uint kind, uint word, uint i) {
  if (kind == kKvF32) return flushed(uintBitsToFloat(word));
  if (is_code(kind)) return code_value(kind, (word >> (8u * i)) & 0xffu);
  const uint bits = (word >> (16u * i)) & 0xffffu;
  return kind == kKvF16 ? f16_value(bits) : uintBitsToFloat(bits << 16);
}
