#pragma once
// Weights of codes as the bf16 weights that they stand for: (code - zero) * scale, rounded to
// float32 and that to bf16 (the layout of kernels.h). A weight of 0 is +0 whatever the sign of its
// scale. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"

namespace foretoken {
namespace {

FT_INLINE V16 load_scales(const char* scales, CodeScale type, int half) {
  if (type == CodeScale::kBF16)
    return load_bf16(reinterpret_cast<const std::uint16_t*>(scales) + half * 16);
  if (type == CodeScale::kF16)
    return load_f16(reinterpret_cast<const std::uint16_t*>(scales) + half * 16);
  return load(reinterpret_cast<const float*>(scales) + half * 16);
}

// The kinds of codes: of<K> is code K of a line, one of each output (four or eight k lie side by
// side), as a float times kUnit.
struct Int8Codes {
  static constexpr int kBits = 8;
  static constexpr float kUnit = 1;
  template <int K>
  FT_INLINE static V16 of(I16 line) {
    return to_float(byte_of<K>(line));
  }
};
template <int Zero>
struct Int4CodesLess {
  static constexpr int kBits = 4;
  static constexpr float kUnit = 1;
  // Where the bits of code k of a line begin.
  static constexpr int shift_of(int k) { return k % 4 * 8 + k / 4 * 4; }
  template <int K>
  FT_INLINE static V16 of(I16 line) {
    return nibble_of<shift_of(K), Zero>(line);
  }
};
using Int4Codes = Int4CodesLess<0>;
struct E4M3Codes {
  static constexpr int kBits = 8;
  static constexpr float kUnit = kE4M3Unit;
  template <int K>
  FT_INLINE static V16 of(I16 line) {
    return e4m3_of<K>(line);
  }
};

// What a half of a unit has beside its codes: weight = (code - zero) * scale.
struct UnitScale {
  V16 zero, scale;
};
template <class Codes>
FT_INLINE UnitScale unit_scale(const char* unit, const CodeLayout& codes, int half) {
  const V16 scale = load_scales(unit + codes.scales_at, codes.scale, half);
  if constexpr (Codes::kUnit != 1) return {zero(), mul(scale, set1(1 / Codes::kUnit))};
  if (codes.zeros_at == 0) return {set1(1 << (Codes::kBits - 1)), scale};
  const auto* zeros = reinterpret_cast<const std::int16_t*>(unit + codes.zeros_at);
  return {to_float(load_i16(zeros + half * 16)), scale};
}

// ---- Blocks widened

// Two neighbouring k of a line to a pair of bf16.
template <class Codes, int K>
FT_INLINE void widen_pair(I16 line, const UnitScale& s, char* out) {
  const V16 even = mul(sub(Codes::template of<K>(line), s.zero), s.scale);
  const V16 odd = mul(sub(Codes::template of<K + 1>(line), s.zero), s.scale);
  int_store(out + K / 2 * 64, bf16_pair(round_small_bf16(even), round_small_bf16(odd)));
}

template <class Codes>
FT_INLINE void widen_line(const char* line, const UnitScale& s, char* out) {
  const I16 all = int_load(line);
  widen_pair<Codes, 0>(all, s, out);
  widen_pair<Codes, 2>(all, s, out);
  if constexpr (Codes::kBits == 4) {
    widen_pair<Codes, 4>(all, s, out);
    widen_pair<Codes, 6>(all, s, out);
  }
}

// One step of one half: its lines follow each other, as do the pairs of bf16.
template <class Codes>
FT_INLINE void widen_step(const char* lines, int step, const UnitScale& s, char* out) {
  constexpr int kTileBytes = 1024, kLineK = 32 / Codes::kBits;
  for (int k = 0; k < step; k += kBlockK, out += 2 * kTileBytes)
    for (int i = 0; i < kBlockK; i += kLineK, lines += 64)
      widen_line<Codes>(lines, s, out + i / 2 * 64);
}

// k [first, end) of a block, first a multiple of the step.
template <class Codes>
void widen_range(const char* block, const CodeLayout& codes, int first, int end, char* out) {
  constexpr int kTileBytes = 1024;
  const int half_bytes = codes.step * 2 * Codes::kBits;
  for (int k = first; k < end; k += codes.step) {
    const char* unit = block + std::int64_t{k / codes.group} * codes.unit_bytes;
    const char* lines = unit + std::int64_t{k % codes.group / codes.step} * 2 * half_bytes;
    for (int at = 0; at < 2 * half_bytes; at += 64) prefetch_l1(lines + kPrefetchBytes + at);
    for (int half = 0; half < 2; ++half)
      widen_step<Codes>(lines + half * half_bytes, codes.step, unit_scale<Codes>(unit, codes, half),
                        out + half * kTileBytes);
    out += codes.step / kBlockK * (2 * kTileBytes);
  }
}
inline void widen_codes(const char* block, const CodeLayout& codes, int first, int end, char* out) {
  if (codes.is_float)
    widen_range<E4M3Codes>(block, codes, first, end, out);
  else if (codes.bits == 8)
    widen_range<Int8Codes>(block, codes, first, end, out);
  else
    widen_range<Int4Codes>(block, codes, first, end, out);
}

inline void widen_blocks(const WidenCall& call) {
  if (call.codes.blocks.piece_units > 0) return widen_blocked(call);
  for (int block = 0; block < call.blocks; ++block)
    widen_codes(static_cast<const char*>(call.weights) + block * call.block_bytes, call.codes, 0,
                call.codes.groups * call.codes.group,
                static_cast<char*>(call.out) + block * call.out_block_bytes);
}

}  // namespace
}  // namespace foretoken
