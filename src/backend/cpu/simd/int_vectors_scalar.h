#pragma once
// I16 as an array: the definition of what the functions of int_vectors.h give. For translation units
// of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

struct I16 {
  std::int32_t v[16];
};
template <class F>
FT_INLINE I16 each_int(F f) {
  I16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
FT_INLINE I16 int_set1(std::int32_t a) {
  return each_int([=](int) { return a; });
}
FT_INLINE I16 int_zero() { return int_set1(0); }
FT_INLINE I16 int_load(const void* p) {
  I16 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
FT_INLINE void int_store(void* p, I16 a) { __builtin_memcpy(p, &a, sizeof a); }
FT_INLINE I16 int_add(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] + b.v[i]; });
}
FT_INLINE I16 int_sub(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] - b.v[i]; });
}
FT_INLINE I16 int_mul(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] * b.v[i]; });
}
FT_INLINE V16 to_float(I16 a) {
  return each_lane([&](int i) { return static_cast<float>(a.v[i]); });
}
FT_INLINE I16 to_int(V16 a) {
  return each_int([&](int i) { return int1(a.v[i]); });
}
FT_INLINE I16 load_i16(const std::int16_t* p) {
  return each_int([=](int i) { return p[i]; });
}
FT_INLINE void store_i8(std::int8_t* p, V16 a) {
  const I16 all = to_int(a);
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(all.v[i]);
}
template <int I>
FT_INLINE I16 byte_of(I16 a) {
  return each_int([&](int i) { return (a.v[i] >> (8 * I)) & 0xff; });
}
template <int Shift, int Zero>
FT_INLINE V16 nibble_of(I16 a) {
  return each_lane([&](int i) { return static_cast<float>(((a.v[i] >> Shift) & 15) - Zero); });
}
template <int I>
FT_INLINE V16 e4m3_of(I16 a) {
  const I16 byte = byte_of<I>(a);
  const V16 magnitude = below_normal(each_lane([&](int i) {
    return __builtin_bit_cast(float, ((byte.v[i] << 20) & kE4M3Bits) | kE4M3Exponent);
  }));
  return each_lane(
      [&](int i) { return (byte.v[i] & 0x80) != 0 ? -magnitude.v[i] : magnitude.v[i]; });
}
FT_INLINE I16 load_i8(const std::int8_t* p) {
  return each_int([=](int i) { return p[i]; });
}
struct LineBytes {
  std::uint8_t v[64];
};
template <class F>
FT_INLINE I16 each_line_byte(I16 a, F f) {
  LineBytes bytes = __builtin_bit_cast(LineBytes, a);
  for (std::uint8_t& byte : bytes.v) byte = static_cast<std::uint8_t>(f(byte));
  return __builtin_bit_cast(I16, bytes);
}
template <int Right, int Mask, int Left>
FT_INLINE I16 field(I16 a) {
  return each_line_byte(a, [](int byte) { return ((byte >> Right) & Mask) << Left; });
}
FT_INLINE I16 either(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] | b.v[i]; });
}
FT_INLINE I16 listed(I16 a, const std::uint8_t (&table)[16]) {
  return each_line_byte(a, [&](int byte) { return table[byte]; });
}
FT_INLINE I16 bf16_pair(V16 a, V16 b) {
  return each_int([&](int i) {
    return static_cast<std::int32_t>(bf16_bits(a.v[i]) | bf16_bits(b.v[i]) << 16);
  });
}

FT_INLINE I16 int_pair(I16 a, I16 b) {
  return each_int([&](int i) { return (a.v[i] & 0xffff) + b.v[i] * 0x10000; });
}
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  return each_int([&](int i) {
    const auto low = [](std::int32_t pair) { return static_cast<std::int16_t>(pair & 0xffff); };
    return acc.v[i] + low(a.v[i]) * low(b.v[i]) + (a.v[i] >> 16) * (b.v[i] >> 16);
  });
}

struct Codes4 {
  std::uint8_t v[64];
};
struct Input4 {
  std::int8_t v[4];
};
using Codes8 = Codes4;
using Input8 = Input4;
FT_INLINE Codes8 codes8(const void* line) {
  Codes8 r;
  __builtin_memcpy(&r, line, sizeof r);
  return r;
}
FT_INLINE Codes4 as_codes4(I16 a) { return __builtin_bit_cast(Codes4, a); }
FT_INLINE Codes8 as_codes8(I16 a) { return __builtin_bit_cast(Codes8, a); }
FT_INLINE Codes4 low_codes(const void* line) {
  Codes4 r = codes8(line);
  for (std::uint8_t& code : r.v) code &= 15;
  return r;
}
FT_INLINE Codes4 high_codes(const void* line) {
  Codes4 r = codes8(line);
  for (std::uint8_t& code : r.v) code >>= 4;
  return r;
}
FT_INLINE I16 less_zeros(Codes4 a, I16 zeros) {
  const Codes4 less = __builtin_bit_cast(Codes4, zeros);
  for (int i = 0; i < 64; ++i) a.v[i] = static_cast<std::uint8_t>(a.v[i] - less.v[i]);
  return __builtin_bit_cast(I16, a);
}
FT_INLINE Input4 input4(std::int32_t quad) { return __builtin_bit_cast(Input4, quad); }
FT_INLINE V16 bits_to_float(I16 a) { return __builtin_bit_cast(V16, a); }
FT_INLINE I16 bits_to_int(V16 a) { return __builtin_bit_cast(I16, a); }
FT_INLINE Input8 input8(std::int32_t quad) { return input4(quad); }
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  return each_int([&](int i) {
    std::int32_t sum = acc.v[i];
    for (int k = 0; k < 4; ++k) sum += w.v[4 * i + k] * x.v[k];
    return sum;
  });
}

}  // namespace
}  // namespace foretoken
