#pragma once
// Products of codes of 8 bits that keep their input on 2D tile registers, of weights laid out for
// tiles (kernels.h): sixteen bytes in a row are what a register of floats holds, and two such
// registers round to a row of a tile. Widening costs so little that one row takes the same way as
// many. For translation units of kernels only (v16.h).

#include "backend/cpu/code_weights.h"
#include "backend/cpu/gemm_amx_widened.h"
#include "backend/cpu/widening_vectors.h"

namespace foretoken {
namespace {

// Asks for lines of 64 bytes, to be in L1.
template <int Lines>
FT_INLINE void prefetch_lines(const char* p) {
  asm("" : "+r"(p));  // else every address gets a register of its own
  FT_UNROLL
  for (int line = 0; line < Lines; ++line) prefetch_l1(p + line * 64);
}

// Weights of kBlockCols columns as tiles [2 halves][16 pairs of k][16 outputs][2].
class Bytes {
 public:
  static constexpr bool kIsLeft = false;

  static int step(const CodeLayout&) { return 1; }
  template <class Beside>
  void widen(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks, char* to,
             Beside& beside) {
    const CodeLayout& codes = call.codes;
    const char* const column = static_cast<const char*>(call.weights) + n * call.block_bytes;
    const int ahead = call.prefetch_bytes > 0 ? call.prefetch_bytes : kAmxPrefetchBytes;
    int k = static_cast<int>(block) * kBlockK;
    for (; blocks > 0; --blocks, k += kBlockK, to += 2 * kTileBytes) {
      const int group = k / codes.group;
      const char* const unit = column + std::int64_t{group} * codes.unit_bytes;
      if (unit != unit_) take_scales(unit, codes);
      const char* const from = unit + std::int64_t{k - group * codes.group} * kBlockCols;
      prefetch_lines<kBlockK * kBlockCols / 64>(from + ahead);
      if (codes.is_float)
        widen_block<E4M3Codes, false>(from, to, beside);
      else if (codes.zeros_at != 0)
        widen_block<Int8Codes, true>(from, to, beside);
      else
        widen_block<Int8Codes, false>(from, to, beside);
    }
  }

 private:
  // Lanes are pairs of k of eight outputs.
  void take_scales(const char* unit, const CodeLayout& codes) {
    unit_ = unit;
    for (int half = 0; half < 2; ++half) {
      const UnitScale s = codes.is_float ? unit_scale<E4M3Codes>(unit, codes, half)
                                         : unit_scale<Int8Codes>(unit, codes, half);
      const V16 zero_point = sub(s.zero, set1(kMiddle));
      store(scales_[2 * half], each_twice<0>(s.scale));
      store(scales_[2 * half + 1], each_twice<1>(s.scale));
      store(zeros_[2 * half], each_twice<0>(zero_point));
      store(zeros_[2 * half + 1], each_twice<1>(zero_point));
    }
  }
  template <class Codes, bool HasZeros, class Beside>
  __attribute__((noinline)) void widen_block(const char* from, char* to, Beside& beside) const {
    widen_half<Codes, HasZeros, 0>(from, to);
    beside.template multiply<0>();
    widen_half<Codes, HasZeros, 1>(from + kBlockK * 16, to + kTileBytes);
    beside.template multiply<1>();
  }
  template <class Codes, bool HasZeros, int Half>
  FT_INLINE void widen_half(const char* from, char* to) const {
    const V16 scale[2] = {load(scales_[2 * Half]), load(scales_[2 * Half + 1])};
    const V16 zero_point[2] = {load(zeros_[2 * Half]), load(zeros_[2 * Half + 1])};
    const auto weights = [&](V16 code, int i) __attribute__((always_inline)) {
      if constexpr (HasZeros) code = sub(code, zero_point[i]);
      return fma(code, scale[i], zero());  // of -0 this makes +0
    };
    FT_UNROLL
    for (int pair = 0; pair < kBlockK / 2; ++pair, from += 32, to += 64) {
      const V16Pair code = values<Codes>(from);
      int_store(to, bf16_words(weights(code.first, 0), weights(code.second, 1)));
    }
  }
  template <class Codes>
  FT_INLINE static V16Pair values(const char* bytes) {
    if constexpr (Codes::kUnit == 1)
      return {to_float(signed_bytes(bytes)), to_float(signed_bytes(bytes + 16))};
    else
      return e4m3_floats(bytes);
  }

  static constexpr float kMiddle = 128;  // which integers are stored less of
  const char* unit_ = nullptr;           // whose scales these are
  alignas(64) float scales_[4][16];
  alignas(64) float zeros_[4][16];
};

template <class Tiles>
constexpr GemmKernels bytes_gemm(int wide_rows) {
  return widened_gemm<Tiles, Bytes>(wide_rows);
}

}  // namespace
}  // namespace foretoken
