#pragma once
// The product of dot_supers.h for many rows: a super of 32 outputs is laid into bytes in L1 once,
// with its multiples as integers; all rows meet them there. The same operations on the same numbers in
// the same order, so the same bits.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/dot_supers.h"

namespace foretoken {
namespace {

// A super of a block, opened. Of each half: quads, multiples as scaled_quads takes them, those of
// minimum_pair.
template <class Codes>
struct alignas(64) OpenedSuper {
  char quads[2][kSuperK / 4][64];
  char multiples[2][Codes::kGroups][64];
  char minima[2][Codes::kGroups / 2][64];
  float scale[2][16];
  float minimum[2][16];
};

template <int Bits, CodeList List>
void open_super(const char* piece, OpenedSuper<SuperCodes<Bits, List>>& out) {
  using Codes = SuperCodes<Bits, List>;
  for (int half = 0; half < 2; ++half) {
    const char* unit = piece + Codes::kHeaderBytes;
    for (int u = 0; u < Codes::kUnits; ++u, unit += Codes::kUnitBytes) {
      open_half<Codes>(unit + half * Codes::kHalfBytes, &out.quads[half][u * kUnitQuads]);
      for (int g = 0; g < Codes::kUnitGroups; ++g)
        int_store(
            out.multiples[half][u * Codes::kUnitGroups + g],
            factors_for<kDotBits<Bits, List>, Codes::kQuads>(Codes::scale_multiple(unit, g, half)));
    }
    store(out.scale[half], piece_scale(piece, half));
    if constexpr (!Codes::kHasMinima) continue;
    store(out.minimum[half], piece_minimum(piece, half));
    for (int pair = 0; pair < Codes::kGroups / 2; ++pair)
      int_store(out.minima[half][pair], Codes::minimum_pair(piece, pair, half));
  }
}

// Group g of N halves from `half` on: t = its part of the sum.
template <int Bits, CodeList List, int R, int N>
FT_INLINE void take_opened_group(const SuperRows& rows,
                                 const OpenedSuper<SuperCodes<Bits, List>>& weights, int half,
                                 int g, I16 (&t)[R][N]) {
  using Codes = SuperCodes<Bits, List>;
  const char* quads[N];
  I16 multiples[N];
  FT_UNROLL
  for (int v = 0; v < N; ++v) {
    quads[v] = weights.quads[half + v][g * Codes::kQuads];
    multiples[v] = int_load(weights.multiples[half + v][g]);
  }
  scaled_quads<kDotBits<Bits, List>, Codes::kQuads>(
      quads, rows.x + g * 4 * Codes::kQuads, rows.x_row_bytes, multiples,
      Codes::kHasMinima ? nullptr : rows.starts + g, rows.x_row_bytes / 4, t);
}

// Unit u of N halves from half + From on.
template <int Bits, CodeList List, int From, int N, int R, int V>
FT_INLINE void take_opened_unit(const SuperRows& rows,
                                const OpenedSuper<SuperCodes<Bits, List>>& weights, int half, int u,
                                V16 (&sum)[R][V]) {
  I16 t[R][N];
  if constexpr (SuperCodes<Bits, List>::kUnitGroups == 1) {
    take_opened_group<Bits, List>(rows, weights, half + From, u, t);
  } else {
    I16 more[R][N];
    take_opened_group<Bits, List>(rows, weights, half + From, 2 * u, t);
    take_opened_group<Bits, List>(rows, weights, half + From, 2 * u + 1, more);
    add_to(t, more);
  }
  add_unit<R, V, From, N>(rows, u, t, sum);
}

// V halves of an opened super, from `half` on. following: weights that are asked for meanwhile or
// null.
template <int Bits, CodeList List, int R, int V>
__attribute__((noinline)) void run_opened_super(const SuperRows& rows,
                                                const OpenedSuper<SuperCodes<Bits, List>>& weights,
                                                int half, const char* following) {
  using Codes = SuperCodes<Bits, List>;
  V16 sum[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = zero();
  }
  for (int u = 0; u < Codes::kUnits; ++u) {
    if (following != nullptr) {
      for (int ahead = 0; ahead < Codes::kUnitBytes; ahead += 64) prefetch_l1(following + ahead);
      following += Codes::kUnitBytes;
    }
    if constexpr (V == 1 || is_joint<Codes>(R)) {
      take_opened_unit<Bits, List, 0, V>(rows, weights, half, u, sum);
    } else {
      take_opened_unit<Bits, List, 0, 1>(rows, weights, half, u, sum);
      take_opened_unit<Bits, List, 1, 1>(rows, weights, half, u, sum);
    }
  }
  V16 scale[V], minimum[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    scale[v] = load(weights.scale[half + v]);
    minimum[v] = Codes::kHasMinima ? load(weights.minimum[half + v]) : zero();
  }
  end_super<Codes>(rows, 0, sum, scale, minimum,
                   [&](int pair, int v) { return int_load(weights.minima[half + v][pair]); });
}

constexpr int kOpenedSuperRows = kFormRegisters == 32 ? 6 : 3;

template <int Bits, CodeList List, int R>
void run_opened_super_upto(int count, const SuperRows& rows,
                           const OpenedSuper<SuperCodes<Bits, List>>& weights, int half,
                           const char* following) {
  if (count == R)
    return run_opened_super<Bits, List, R, kSuperVecs>(rows, weights, half, following);
  if constexpr (R > 1)
    run_opened_super_upto<Bits, List, R - 1>(count, rows, weights, half, following);
}

template <int Bits, CodeList List>
void run_wide_supers(const GemmCall& call) {
  using Codes = SuperCodes<Bits, List>;
  OpenedSuper<Codes> opened;
  const auto piece_at = [&](int col, int k) {
    return static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
           std::int64_t{k / kSuperK} * Codes::kPieceBytes;
  };
  const RowGroups groups(call.rows, kOpenedSuperRows);
  for (int k = 0; k < call.k; k += kSuperK) {
    const bool last = k + kSuperK >= call.k;
    for (int col = 0; col < call.cols; col += kBlockCols) {
      open_super<Bits, List>(piece_at(col, k), opened);
      const int next_col = col + kBlockCols;
      const char* following =
          next_col < call.cols ? piece_at(next_col, k) : piece_at(0, k + kSuperK);
      for (int half = 0; half < 2 && col + half * 16 < call.cols; half += kSuperVecs) {
        const int first = col + half * 16;
        SuperRows rows = super_rows<Codes>(call, k);
        rows.supers = 1;
        rows.y = call.y + first;
        rows.cols = call.cols - first;
        if (last && call.bias != nullptr) rows.bias = call.bias + first;
        for (int g = 0; g < groups.count; ++g) {
          run_opened_super_upto<Bits, List, kOpenedSuperRows>(groups.rows(g), rows, opened, half,
                                                              following);
          following = nullptr;
          rows.skip(groups.rows(g));
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
