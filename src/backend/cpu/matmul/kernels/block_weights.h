#pragma once
// Reading weights of blocks (kernels.h): quads of codes out of their planes, scales and minima of a
// group; and blocks widened to bf16, weight by weight: fma(code, scale, minimum), rounded to bf16.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"
#include "backend/listed_codes.h"

namespace foretoken {
namespace {

constexpr int kUnitQuads = kBlockK / 4;

// Codes of a list plus kListedZero, so that they are unsigned.
constexpr int kListedZero = 128;
template <CodeList List>
constexpr auto unsigned_codes() {
  struct Codes {
    std::uint8_t code[16];
  } codes = {};
  for (int i = 0; i < 16; ++i)
    codes.code[i] = static_cast<std::uint8_t>(kListedCodes<List>[i] + kListedZero);
  return codes;
}
template <CodeList List>
constexpr auto kListedBytes = unsigned_codes<List>();

// Codes of Bits, of a list or not. `half`: of a unit.
template <int Bits, CodeList List>
struct BlockCodes {
  static constexpr bool kIsListed = List != CodeList::kNone;
  static constexpr int kZero =
      kIsListed ? kListedZero : 1 << (Bits - 1);  // where there are no minima
  static constexpr int kLow = Bits >= 4 ? 4 : 2;  // bits of the low plane
  static constexpr int kLowLines = kLow;          // 32 k * kLow bits of 16 outputs
  static constexpr int kHigh = Bits - kLow;       // bits of the high plane: 0, 1 or 2

  // The bytes of quad Q: four k of 16 outputs.
  template <int Q>
  FT_INLINE static I16 quad(const char* half) {
    constexpr int kPerLine = 8 / kLow;
    const I16 low =
        field<Q % kPerLine * kLow, (1 << kLow) - 1, 0>(int_load(half + Q / kPerLine * 64));
    if constexpr (kIsListed) return listed(low, kListedBytes<List>.code);
    if constexpr (kHigh == 0) return low;
    if constexpr (kHigh == 1)
      return either(low, field<Q, 1, kLow>(int_load(half + kLowLines * 64)));
    if constexpr (kHigh == 2)
      return either(low, field<Q % 4 * 2, 3, kLow>(int_load(half + (kLowLines + Q / 4) * 64)));
  }
};

// Where the pieces and units of a block are.
struct BlockUnit {
  const char* piece;
  const char* unit;
};
FT_INLINE BlockUnit unit_at(const char* block, const BlockLayout& b, int unit) {
  const char* piece = block + std::int64_t{unit / b.piece_units} * b.piece_bytes;
  const int header = b.piece_bytes - b.piece_units * b.unit_bytes;
  return {piece, piece + header + std::int64_t{unit % b.piece_units} * b.unit_bytes};
}

FT_INLINE V16 piece_scale(const char* piece, int half) {
  return load_f16(reinterpret_cast<const std::uint16_t*>(piece) + half * 16);
}
FT_INLINE V16 piece_minimum(const char* piece, int half) {
  return piece_scale(piece + kBlockCols * 2, half);
}

// Of group `group` of a unit, of one half of the outputs.
FT_INLINE V16 group_scale(V16 scale, const char* unit, const BlockLayout& b, int group, int half) {
  if (b.multiples_at == 0) return scale;
  const I16 all = load_i8(reinterpret_cast<const std::int8_t*>(unit) + b.multiples_at +
                          group * kBlockCols + half * 16);
  const bool shares = b.has_minima && b.min_multiples_at == b.multiples_at;
  return mul(scale, to_float(shares ? field<0, 15, 0>(byte_of<0>(all)) : all));
}
FT_INLINE V16 group_minimum(V16 minimum, const char* unit, const BlockLayout& b, int group,
                            int half) {
  if (b.multiples_at == 0) return minimum;
  const I16 all = load_i8(reinterpret_cast<const std::int8_t*>(unit) + b.min_multiples_at +
                          group * kBlockCols + half * 16);
  const bool shares = b.min_multiples_at == b.multiples_at;
  return mul(minimum, to_float(shares ? field<4, 15, 0>(byte_of<0>(all)) : all));
}

// ---- Blocks widened

template <class Codes, int Q, int I>
FT_INLINE void widen_block_pair(I16 quad, V16 zero_code, V16 scale, V16 minimum, char* out) {
  const V16 even = fma(sub(to_float(byte_of<I>(quad)), zero_code), scale, minimum);
  const V16 odd = fma(sub(to_float(byte_of<I + 1>(quad)), zero_code), scale, minimum);
  int_store(out + (2 * Q + I / 2) * 64, bf16_pair(round_small_bf16(even), round_small_bf16(odd)));
}
template <class Codes, int Q>
FT_INLINE void widen_block_quad(const char* half, V16 zero_code, V16 scale, V16 minimum,
                                char* out) {
  const I16 quad = Codes::template quad<Q>(half);
  widen_block_pair<Codes, Q, 0>(quad, zero_code, scale, minimum, out);
  widen_block_pair<Codes, Q, 2>(quad, zero_code, scale, minimum, out);
}

template <int Bits, CodeList List = CodeList::kNone>
void widen_block(const char* block, const CodeLayout& codes, char* out) {
  using Codes = BlockCodes<Bits, List>;
  constexpr int kTileBytes = 1024;
  const BlockLayout& b = codes.blocks;
  const V16 zero_code = set1(b.has_minima ? 0.0F : static_cast<float>(Codes::kZero));
  const int groups = kBlockK / codes.group;
  for (int u = 0; u < codes.groups / groups; ++u) {
    const auto [piece, unit] = unit_at(block, b, u);
    for (int v = 0; v < 2; ++v, out += kTileBytes) {
      const char* half = unit + v * b.half_bytes;
      const V16 d = piece_scale(piece, v), m = b.has_minima ? piece_minimum(piece, v) : zero();
      const auto widen = [&]<int First>() {
        const int group = First * 4 / codes.group;
        const V16 scale = group_scale(d, unit, b, group, v);
        const V16 minimum = b.has_minima ? group_minimum(m, unit, b, group, v) : zero();
        widen_block_quad<Codes, First>(half, zero_code, scale, minimum, out);
        widen_block_quad<Codes, First + 1>(half, zero_code, scale, minimum, out);
        widen_block_quad<Codes, First + 2>(half, zero_code, scale, minimum, out);
        widen_block_quad<Codes, First + 3>(half, zero_code, scale, minimum, out);
      };
      widen.template operator()<0>();
      widen.template operator()<4>();
    }
  }
}

inline void widen_blocked(const WidenCall& call) {
  for (int i = 0; i < call.blocks; ++i) {
    const char* block = static_cast<const char*>(call.weights) + i * call.block_bytes;
    char* out = static_cast<char*>(call.out) + i * call.out_block_bytes;
    if (call.codes.blocks.list == CodeList::kIq4Nl)
      widen_block<4, CodeList::kIq4Nl>(block, call.codes, out);
    else if (call.codes.blocks.list == CodeList::kE2M1)
      widen_block<4, CodeList::kE2M1>(block, call.codes, out);
    else if (call.codes.bits == 2)
      widen_block<2>(block, call.codes, out);
    else if (call.codes.bits == 3)
      widen_block<3>(block, call.codes, out);
    else if (call.codes.bits == 4)
      widen_block<4>(block, call.codes, out);
    else if (call.codes.bits == 5)
      widen_block<5>(block, call.codes, out);
    else
      widen_block<6>(block, call.codes, out);
  }
}

}  // namespace
}  // namespace foretoken
