#pragma once
// GEMM micro-kernels of weights of codes whose products keep their input at bf16: each weight is
// widened in a register to the bf16 that it stands for (code_weights.h) and multiplied in the order
// of the bf16 product (fma_bf16.h; dot_codes_kept.h by VDPBF16PS), so that memory is read at the
// width of the codes. For few rows; with more of them it is cheaper to widen weights once into a
// cache, the sooner the faster the bf16 product is.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/code_weights.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "base/index.h"

namespace foretoken {
namespace {

// kBlockCols columns over all of K.
struct CodedPanel : Panel {
  CodeLayout codes;
  std::int64_t x_block_bytes;  // between blocks of kBlockK of a row of x
};

// How a row of x lies within kBlockK: number k of them, rounded to bf16, for all lanes.
struct FloatInput {
  static constexpr int kBytes = 4;
  FT_INLINE static V16 at(const char* x, int k) {
    return set1(*reinterpret_cast<const float*>(x + k * kBytes));
  }
};
struct Bf16Input {
  static constexpr int kBytes = 2;
  FT_INLINE static V16 at(const char* x, int k) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, x + k * kBytes, sizeof bits);
    return set1(__builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16));
  }
};

// What turns codes of a unit into weights: (code - zero) * scale, rounded to float32 and bf16.
template <class Codes>
struct UnitWeights {
  V16 scale[2], shift[2];

  FT_INLINE UnitWeights(const char* unit, const CodeLayout& codes) {
    FT_UNROLL
    for (int v = 0; v < 2; ++v) {
      const UnitScale half = unit_scale<Codes>(unit, codes, v);
      scale[v] = half.scale;
      shift[v] = sub(zero(), mul(half.zero, half.scale));  // exact, see has_exact_shifts
    }
  }
  // Of code K of a line.
  template <int K>
  FT_INLINE V16 unrounded(I16 line, int v) const {
    return fma(Codes::template of<K>(line), scale[v], shift[v]);
  }
  template <int K>
  FT_INLINE V16 of(I16 line, int v) const {
    return round_small_bf16(unrounded<K>(line, v));
  }
};

// The same with one step less, where the code is less its zero point already and the scale is bf16:
// 65535 scale is exact then, and so round_small_bf16 needs no product before it.
using CenteredInt4 = Int4CodesLess<8>;
template <>
struct UnitWeights<CenteredInt4> {
  V16 whole[2], less[2];

  FT_INLINE UnitWeights(const char* unit, const CodeLayout& codes) {
    FT_UNROLL
    for (int v = 0; v < 2; ++v) {
      const V16 scale = load_scales(unit + codes.scales_at, codes.scale, v);
      whole[v] = mul(scale, set1(65536.0F));
      less[v] = mul(scale, set1(-65535.0F));
    }
  }
  template <int K>
  FT_INLINE V16 of(I16 line, int v) const {
    const V16 code = CenteredInt4::of<K>(line);
    return fma(code, whole[v], mul(code, less[v]));
  }
};

// Sums of a half as its kind of codes leaves them in a register, to columns in order.
template <class Codes>
FT_INLINE V16 columns_in_order(V16 sums) {
  return sums;
}

// Rows of one group, as many as registers hold sums for, and of two chains at once, beside the
// weights. Each number of rows is a function of its own; a sanitizer makes minutes' work of one
// function of all that it calls.
#if defined(FT_FEW_ROWS)
#define FT_CODED_INLINE inline
#else
#define FT_CODED_INLINE FT_INLINE
#endif
constexpr int kMostCodedRows = kFormRegisters == 32 ? 12 : kFormRegisters == 8 ? 2 : 1;
constexpr int kTwoChainRows = kFormRegisters / 8;
// The most rows for which kept codes are faster where input is bf16.
constexpr int kFewCodedRows = kMostCodedRows < 4 ? kMostCodedRows : 4;

// kBlockK of k of both halves of a unit.
template <class Codes>
struct CodedBlock {
  const char* lines;
  std::int64_t half_bytes;  // from the lines of one half to those of the other
  const char* ahead;        // what is asked for meanwhile, as many lines in a row
  const UnitWeights<Codes>& weights;
};

// From k on, a multiple of kBlockK, within a unit.
template <class Codes>
FT_INLINE CodedBlock<Codes> coded_block(const CodedPanel& panel, const char* unit, int k,
                                        const UnitWeights<Codes>& weights) {
  constexpr int kBits = Codes::kBits;
  const int inside = k & (panel.codes.step - 1);
  return {.lines = unit + std::int64_t{k - inside} * 4 * kBits + inside * 2 * kBits,
          .half_bytes = std::int64_t{panel.codes.step} * 2 * kBits,
          .ahead = unit + panel.prefetch_bytes + std::int64_t{k} * 4 * kBits,
          .weights = weights};
}
// Of a unit as far ahead as its blocks ask for codes.
FT_INLINE void prefetch_scales(const CodedPanel& panel, const char* unit) {
  const char* const end = unit + panel.codes.unit_bytes;
  for (const char* at = unit + panel.codes.scales_at; at < end; at += 64)
    prefetch_l1(at + panel.prefetch_bytes);
}

// sum += the products with code K of a line, whose input is at x.
template <class Input, class Codes, int K, int R>
FT_CODED_INLINE void add_code(const I16 (&line)[2], const CodedBlock<Codes>& block, const char* x,
                              const Panel& panel, V16 (&sum)[R][2]) {
  V16 b[2];
  FT_UNROLL
  for (int v = 0; v < 2; ++v) b[v] = block.weights.template of<K>(line[v], v);
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const V16 a = Input::at(x + r * panel.x_row_bytes, K);
    FT_UNROLL
    for (int v = 0; v < 2; ++v) sum[r][v] = fma(b[v], a, sum[r][v]);
  }
}

enum class Fetch { kNothing, kAhead };  // lines of weights, to be in L1

// Calls add_line(line, x of its k) for each line of a block.
template <class Input, class Codes, Fetch kFetch, class AddLine>
FT_INLINE void each_line(const CodedBlock<Codes>& block, const char* x, AddLine add_line) {
  constexpr int kLineK = 32 / Codes::kBits;
  for (int i = 0; i < Codes::kBits; ++i, x += kLineK * Input::kBytes) {
    if constexpr (kFetch == Fetch::kAhead) {
      prefetch_l1(block.ahead + 2 * i * 64);
      prefetch_l1(block.ahead + (2 * i + 1) * 64);
    }
    const char* at = block.lines + i * 64;
    const I16 line[2] = {int_load(at), int_load(at + block.half_bytes)};
    add_line(line, x);
  }
}

// An order says how the products of a block are added, and which kind of codes stands for those of
// 4 bits that have no zero points and scales of bf16.
struct CodedPairOrder {
  using PlainInt4 = CenteredInt4;

  template <class Input, class Codes, int R>
  FT_INLINE static void add_block(const CodedBlock<Codes>& block, const char* x, const Panel& panel,
                                  V16 (&acc)[R][2]) {
    each_line<Input, Codes, Fetch::kAhead>(
        block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
          add_code<Input, Codes, 1>(line, block, a, panel, acc);
          add_code<Input, Codes, 0>(line, block, a, panel, acc);
          add_code<Input, Codes, 3>(line, block, a, panel, acc);
          add_code<Input, Codes, 2>(line, block, a, panel, acc);
          if constexpr (Codes::kBits == 4) {
            add_code<Input, Codes, 5>(line, block, a, panel, acc);
            add_code<Input, Codes, 4>(line, block, a, panel, acc);
            add_code<Input, Codes, 7>(line, block, a, panel, acc);
            add_code<Input, Codes, 6>(line, block, a, panel, acc);
          }
        });
  }
};

struct CodedTileOrder {
  using PlainInt4 = CenteredInt4;

  template <class Input, class Codes, int R>
  FT_INLINE static void add_block(const CodedBlock<Codes>& block, const char* x, const Panel& panel,
                                  V16 (&acc)[R][2]) {
    V16 even[R][2], odd[R][2];
    clear(even);
    clear(odd);
    if constexpr (R <= kTwoChainRows) {
      each_line<Input, Codes, Fetch::kAhead>(
          block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
            add_chain<Input, Codes, 0>(line, block, a, panel, even);
            add_chain<Input, Codes, 1>(line, block, a, panel, odd);
          });
    } else {
      each_line<Input, Codes, Fetch::kAhead>(
          block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
            add_chain<Input, Codes, 0>(line, block, a, panel, even);
          });
      each_line<Input, Codes, Fetch::kNothing>(
          block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
            add_chain<Input, Codes, 1>(line, block, a, panel, odd);
          });
    }
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < 2; ++v) acc[r][v] = add(acc[r][v], add(even[r][v], odd[r][v]));
    }
  }

 private:
  // The codes of a line whose k are even (First = 0) or odd.
  template <class Input, class Codes, int First, int R>
  FT_INLINE static void add_chain(const I16 (&line)[2], const CodedBlock<Codes>& block,
                                  const char* x, const Panel& panel, V16 (&sum)[R][2]) {
    add_code<Input, Codes, First>(line, block, x, panel, sum);
    add_code<Input, Codes, First + 2>(line, block, x, panel, sum);
    if constexpr (Codes::kBits == 4) {
      add_code<Input, Codes, First + 4>(line, block, x, panel, sum);
      add_code<Input, Codes, First + 6>(line, block, x, panel, sum);
    }
  }
  template <int R>
  FT_INLINE static void clear(V16 (&sum)[R][2]) {
    FT_UNROLL
    for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = zero();
  }
};

template <class Order, class Input, class Codes, int R>
__attribute__((noinline)) void run_coded_rows(const CodedPanel& panel) {
  const CodeLayout& codes = panel.codes;
  V16 acc[R][2];
  load_accumulators(panel, acc);
  const char* x = panel.x;
  const char* unit = panel.weights;
  for (int left = panel.k; left > 0; left -= codes.group, unit += codes.unit_bytes) {
    const UnitWeights<Codes> weights(unit, codes);
    const int end = left < codes.group ? left : codes.group;
    for (int k = 0; k < end; k += kBlockK, x += panel.x_block_bytes)
      Order::template add_block<Input, Codes>(coded_block(panel, unit, k, weights), x, panel, acc);
    prefetch_scales(panel, unit);
  }
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < 2; ++v) acc[r][v] = columns_in_order<Codes>(acc[r][v]);
  }
  store_accumulators(panel, acc);
}

template <class Order, class Input, class Codes, int R>
void run_coded(int rows, const CodedPanel& panel) {
  if (rows == R) return run_coded_rows<Order, Input, Codes, R>(panel);
  if constexpr (R > 1) run_coded<Order, Input, Codes, R - 1>(rows, panel);
}

// Calls run(rows, the panel from their first on) for all rows of a panel, in groups of nearly equal
// size, at most `most`.
template <class AnyPanel, class Run>
void each_group_of_rows(int rows, int most, AnyPanel panel, const Run& run) {
  for (int groups = ceil_div(rows, most); groups > 0; --groups) {
    const int some = ceil_div(rows, groups);
    run(some, panel);
    panel.x += some * panel.x_row_bytes;
    panel.y += some * panel.y_stride;
    rows -= some;
  }
}

// Each group of rows widens the weights; the second finds them in a cache.
template <class Order, class Input, int kMost>
struct CodedGroups {
  using PlainInt4 = typename Order::PlainInt4;

  template <class Codes>
  static void run(int rows, const CodedPanel& panel) {
    each_group_of_rows(rows, kMost, panel, run_coded<Order, Input, Codes, kMost>);
  }
};

// Rows of x lie x_row_bytes from each other, their blocks of kBlockK x_block_bytes. Columns: runs
// all rows of a panel.
template <class Columns>
void run_codes_widened(const GemmCall& call, std::int64_t x_row_bytes, std::int64_t x_block_bytes) {
  CodedPanel panel = {};
  panel.block_bytes = call.block_bytes;
  panel.x_row_bytes = x_row_bytes;
  panel.x_block_bytes = x_block_bytes;
  panel.y_stride = call.y_stride;
  panel.k = static_cast<int>(call.k);
  panel.prefetch_bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : kPrefetchBytes;
  panel.codes = call.codes;
  for (int col = 0; col < call.cols; col += kBlockCols) {
    panel.weights = static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes;
    panel.bias = call.bias == nullptr ? nullptr : call.bias + col;
    panel.cols = call.cols - col;
    panel.x = static_cast<const char*>(call.x);
    panel.y = call.y + col;
    if (call.codes.is_float)
      Columns::template run<E4M3Codes>(call.rows, panel);
    else if (call.codes.bits == 8)
      Columns::template run<Int8Codes>(call.rows, panel);
    else if (call.codes.zeros_at == 0 && call.codes.scale == CodeScale::kBF16)
      Columns::template run<typename Columns::PlainInt4>(call.rows, panel);
    else
      Columns::template run<Int4Codes>(call.rows, panel);
  }
}

// Input as pack_x_rounded or pack_x_bf16 leaves it.
template <class Order>
void run_codes_on_floats(const GemmCall& call) {
  run_codes_widened<CodedGroups<Order, FloatInput, kMostCodedRows>>(call, call.x_stride * 4,
                                                                    kBlockK * 4);
}
template <class Order>
void run_codes_on_bf16(const GemmCall& call) {
  run_codes_widened<CodedGroups<Order, Bf16Input, kFewCodedRows>>(call, call.x_stride * 2,
                                                                  kBlockK * 2);
}

}  // namespace
}  // namespace foretoken
