#include "checkpoint/formats/gguf/gguf_codings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_bytes.h"

namespace foretoken {
namespace {

using gguf::byte_at;
using gguf::half_at;
using gguf::word_at;
using Bytes = const std::byte*;

constexpr int kSmall = 32, kLarge = 256;  // elements of a block

// 32 codes of 4 bits: byte i holds those of i and i + 16.
void halves(Bytes from, std::uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = byte_at(from, i) & 15U;
    codes[i + 16] = byte_at(from, i) >> 4U;
  }
}
// And one bit more of each, bit i for code i.
void fifth_bits(Bytes from, std::uint8_t* codes) {
  for (int i = 0; i < kSmall; ++i)
    codes[i] = static_cast<std::uint8_t>(codes[i] | (byte_at(from, i / 8) >> i % 8 & 1) << 4);
}

void read_q8_0(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  for (int i = 0; i < kSmall; ++i)
    to.codes[i] = static_cast<std::uint8_t>(byte_at(b, 2 + i) ^ 0x80U);
}
void read_q4_0(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  halves(b + 2, to.codes);
}
void read_q4_1(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  *to.minimum = half_at(b + 2);
  halves(b + 4, to.codes);
}
void read_q5_0(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  halves(b + 6, to.codes);
  fifth_bits(b + 2, to.codes);
}
void read_q5_1(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  *to.minimum = half_at(b + 2);
  halves(b + 8, to.codes);
  fifth_bits(b + 4, to.codes);
}

// Two bits of each of 256 codes: 128 by 128, byte l of 32 holds those of l, l + 32, l + 64, l + 96.
void quarters(Bytes from, std::uint8_t* codes) {
  for (int half = 0; half < 2; ++half, from += 32)
    for (int shift = 0; shift < 8; shift += 2, codes += 32)
      for (int i = 0; i < 32; ++i) codes[i] = byte_at(from, i) >> shift & 3U;
}

void read_q2_k(Bytes b, const GgufBlockParts& to) {
  for (int g = 0; g < 16; ++g) {
    to.multiples[g] = static_cast<std::int8_t>(byte_at(b, g) & 15U);
    to.min_multiples[g] = static_cast<std::int8_t>(byte_at(b, g) >> 4U);
  }
  quarters(b + 16, to.codes);
  *to.scale = half_at(b + 80);
  *to.minimum = -half_at(b + 82);
}

// hmask | codes | scales | d: codes less 4 where the bit of hmask is missing.
void read_q3_k(Bytes b, const GgufBlockParts& to) {
  quarters(b + 32, to.codes);
  for (int i = 0; i < kLarge; ++i)
    to.codes[i] = static_cast<std::uint8_t>(to.codes[i] | (byte_at(b, i % 32) >> i / 32 & 1) << 2);
  const Bytes scales = b + 96;
  for (int g = 0; g < 16; ++g) {
    const unsigned low = g < 8 ? byte_at(scales, g) & 15U : byte_at(scales, g - 8) >> 4U;
    const unsigned high = byte_at(scales, 8 + g % 4) >> g / 4 * 2 & 3U;
    to.multiples[g] = static_cast<std::int8_t>(static_cast<int>(low | high << 4U) - 32);
  }
  *to.scale = half_at(b + 108);
}

// d | dmin | 8 multiples and 8 of the minimum, six bits each.
void read_k_scales(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  *to.minimum = -half_at(b + 2);
  const Bytes s = b + 4;
  for (int g = 0; g < 8; ++g) {
    const bool is_low = g < 4;
    const unsigned scale =
        is_low ? byte_at(s, g) & 63U : (byte_at(s, g + 4) & 15U) | byte_at(s, g - 4) >> 6U << 4U;
    const unsigned minimum =
        is_low ? byte_at(s, g + 4) & 63U : byte_at(s, g + 4) >> 4U | byte_at(s, g) >> 6U << 4U;
    to.multiples[g] = static_cast<std::int8_t>(scale);
    to.min_multiples[g] = static_cast<std::int8_t>(minimum);
  }
}
// Groups 2 j and 2 j + 1 in the halves of 32 bytes.
void pairs_of_groups(Bytes from, std::uint8_t* codes) {
  for (int pair = 0; pair < 4; ++pair, from += 32, codes += 64)
    for (int i = 0; i < 32; ++i) {
      codes[i] = byte_at(from, i) & 15U;
      codes[i + 32] = byte_at(from, i) >> 4U;
    }
}
void read_q4_k(Bytes b, const GgufBlockParts& to) {
  read_k_scales(b, to);
  pairs_of_groups(b + 16, to.codes);
}
void read_q5_k(Bytes b, const GgufBlockParts& to) {
  read_k_scales(b, to);
  pairs_of_groups(b + 48, to.codes);
  for (int i = 0; i < kLarge; ++i)
    to.codes[i] =
        static_cast<std::uint8_t>(to.codes[i] | (byte_at(b + 16, i % 32) >> i / 32 & 1) << 4);
}

// low halves [128] | high quarters [64] | multiples [16] | d
void read_q6_k(Bytes b, const GgufBlockParts& to) {
  std::uint8_t* codes = to.codes;
  for (int quarter = 0; quarter < 8; ++quarter, codes += 32) {
    const int half = quarter / 4, inside = quarter % 4;
    const Bytes low = b + half * 64 + inside % 2 * 32, high = b + 128 + half * 32;
    const int low_shift = inside / 2 * 4, high_shift = inside * 2;
    for (int i = 0; i < 32; ++i)
      codes[i] = static_cast<std::uint8_t>((byte_at(low, i) >> low_shift & 15) |
                                           (byte_at(high, i) >> high_shift & 3) << 4);
  }
  for (int g = 0; g < 16; ++g) to.multiples[g] = static_cast<std::int8_t>(byte_at(b + 192, g));
  *to.scale = half_at(b + 208);
}

void read_iq4_xs(Bytes b, const GgufBlockParts& to) {
  *to.scale = half_at(b);
  const unsigned high = word_at(b + 2);
  for (int g = 0; g < 8; ++g) {
    const unsigned low = byte_at(b + 4, g / 2) >> g % 2 * 4 & 15U;
    to.multiples[g] =
        static_cast<std::int8_t>(static_cast<int>(low | (high >> 2 * g & 3U) << 4U) - 32);
    halves(b + 8 + g * 16, to.codes + g * kSmall);
  }
}

// A power of two, less 127, and codes. Half of it, because codes stand for twice their value: exact
// in float16 from 2^-24 on; what is smaller is 0.
void read_mxfp4(Bytes b, const GgufBlockParts& to) {
  constexpr int kMost = 15;  // of an exponent of float16
  const int exponent = byte_at(b, 0) - 128;
  if (exponent > kMost)
    throw Error({.what = "a block of MXFP4 has a scale that is too large",
                 .expected = "at most 2^16",
                 .found = "2^" + std::to_string(exponent + 1)});
  *to.scale = exponent < -24 ? 0.0F : std::ldexp(1.0F, exponent);
  halves(b + 1, to.codes);
}

constexpr WeightFormat format(int bits, std::int64_t group, int super, bool has_minima,
                              CodeList list = CodeList::kNone) {
  return {.bits = bits,
          .group = group,
          .scale = DType::kF16,
          .super = super,
          .has_minima = has_minima,
          .list = list};
}

constexpr std::array<GgufCoding, 13> kCodings{
    {{GgufType::kQ8_0, format(8, 32, 0, false), read_q8_0},
     {GgufType::kQ4_0, format(4, 32, 0, false), read_q4_0},
     {GgufType::kQ4_1, format(4, 32, 0, true), read_q4_1},
     {GgufType::kQ5_0, format(5, 32, 0, false), read_q5_0},
     {GgufType::kQ5_1, format(5, 32, 0, true), read_q5_1},
     {GgufType::kQ2_K, format(2, 16, kLarge, true), read_q2_k},
     {GgufType::kQ3_K, format(3, 16, kLarge, false), read_q3_k},
     {GgufType::kQ4_K, format(4, 32, kLarge, true), read_q4_k},
     {GgufType::kQ5_K, format(5, 32, kLarge, true), read_q5_k},
     {GgufType::kQ6_K, format(6, 16, kLarge, false), read_q6_k},
     {GgufType::kIQ4_NL, format(4, 32, 0, false, CodeList::kIq4Nl), read_q4_0},
     {GgufType::kIQ4_XS, format(4, 32, kLarge, false, CodeList::kIq4Nl), read_iq4_xs},
     {GgufType::kMXFP4, format(4, 32, 0, false, CodeList::kE2M1), read_mxfp4}}};

}  // namespace

const GgufCoding* gguf_coding(GgufType type) {
  const auto* const found = std::ranges::find(kCodings, type, &GgufCoding::type);
  return found == kCodings.end() ? nullptr : &*found;
}

}  // namespace foretoken
