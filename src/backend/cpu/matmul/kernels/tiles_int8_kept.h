#pragma once
// Products of codes of 8 bits that keep their input on 2D tile registers, of weights laid out for
// tiles (kernels.h): sixteen bytes in a row are what a register of floats holds, and two such
// registers round to a row of a tile. Widening costs so little that one row takes the same way as
// many. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/code_weights.h"
#include "backend/cpu/matmul/kernels/tiles_codes_kept.h"
#include "backend/cpu/simd/widening_vectors.h"

namespace foretoken {
namespace {

// Asks for lines of 64 bytes, to be in L1.
template <int Lines>
FT_INLINE void prefetch_lines(const char* p) {
  asm("" : "+r"(p));  // else every address gets a register of its own
  FT_UNROLL
  for (int line = 0; line < Lines; ++line) prefetch_l1(p + line * 64);
}

// Weights of kBlockCols columns as tiles [2 halves][16 pairs of k][16 outputs][2]; a step is a
// block of K.
class Bytes {
  enum class ZeroPoints { kNone, kGiven };

 public:
  static constexpr bool kIsLeft = false;

  template <int ColBlocks, class Steps>
  void widen(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks, Steps& steps) {
    const CodeLayout& codes = call.codes;
    if (codes.is_float)
      widen_blocks<ColBlocks, E4M3Codes, ZeroPoints::kNone>(call, n, block, blocks, steps);
    else if (codes.zeros_at != 0)
      widen_blocks<ColBlocks, Int8Codes, ZeroPoints::kGiven>(call, n, block, blocks, steps);
    else
      widen_blocks<ColBlocks, Int8Codes, ZeroPoints::kNone>(call, n, block, blocks, steps);
  }

 private:
  struct Scales {
    alignas(64) float scales[4][16];
    alignas(64) float zeros[4][16];
  };

  template <int ColBlocks, class Codes, ZeroPoints Zeros, class Steps>
  void widen_blocks(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks,
                    Steps& steps) {
    const StreamsAhead<ColBlocks> ahead(call, n, kAmxPrefetchBytes, kBlockK * kBlockCols);
    each_unit(call, n, block, blocks, [&](const char* unit, int first, int count) {
      for (int i = 0; i < ColBlocks; ++i)
        take_scales<Codes>(unit + i * call.block_bytes, call.codes, scales_[i]);
      const char* from = unit + std::int64_t{first} * kBlockCols;
      for (; count > 0; count -= kBlockK, from += kBlockK * kBlockCols) {
        widen_block<Codes, Zeros, 0>(from, ahead.of[0].of(from), steps);
        if constexpr (ColBlocks == 2) {
          const char* const second = from + call.block_bytes;
          widen_block<Codes, Zeros, 1>(second, ahead.of[1].of(second), steps);
        }
      }
    });
  }
  // Lanes are pairs of k of eight outputs.
  template <class Codes>
  static void take_scales(const char* unit, const CodeLayout& codes, Scales& to) {
    for (int half = 0; half < 2; ++half) {
      const UnitScale s = unit_scale<Codes>(unit, codes, half);
      const V16 zero_point = sub(s.zero, set1(kMiddle));
      store(to.scales[2 * half], each_twice<0>(s.scale));
      store(to.scales[2 * half + 1], each_twice<1>(s.scale));
      store(to.zeros[2 * half], each_twice<0>(zero_point));
      store(to.zeros[2 * half + 1], each_twice<1>(zero_point));
    }
  }
  template <class Codes, ZeroPoints Zeros, int N, class Steps>
  __attribute__((noinline)) void widen_block(const char* from, const char* asked,
                                             Steps& steps) const {
    prefetch_lines<kBlockK * kBlockCols / 64>(asked);
    char* const to = steps.tiles();
    const auto beside = steps.template beside<N>();
    widen_half<Codes, Zeros, 0>(from, scales_[N], to);
    beside.template multiply<0>();
    widen_half<Codes, Zeros, 1>(from + kBlockK * 16, scales_[N], to + kTileBytes);
    beside.template multiply<1>();
    steps.template add<N>(1);
  }
  template <class Codes, ZeroPoints Zeros, int Half>
  FT_INLINE static void widen_half(const char* from, const Scales& by, char* to) {
    const V16 scale[2] = {load(by.scales[2 * Half]), load(by.scales[2 * Half + 1])};
    const V16 zero_point[2] = {load(by.zeros[2 * Half]), load(by.zeros[2 * Half + 1])};
    const auto weights = [&](V16 code, int i) __attribute__((always_inline)) {
      if constexpr (Zeros == ZeroPoints::kGiven) code = sub(code, zero_point[i]);
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
  Scales scales_[2];
};

}  // namespace
}  // namespace foretoken
