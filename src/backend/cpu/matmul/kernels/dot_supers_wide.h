#pragma once
// The product of dot_supers.h for more rows than meet weights at once: while the first of them read a
// super of some outputs, its quads are kept as bytes in L1, and its multiples as integers; the others
// meet these. The same operations on the same numbers in the same order, so the same bits.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/dot_supers.h"

namespace foretoken {
namespace {

// A super of kSuperVecs halves of a block, opened: quads, multiples as scaled_quads takes them, those
// of minimum_pair.
template <int Bits, CodeList List>
struct alignas(64) OpenedSuper {
  using Codes = SuperCodes<Bits, List>;
  char quads[kSuperVecs][kSuperK / 4][64];
  char multiples[kSuperVecs][Codes::kGroups][64];
  char minima[kSuperVecs][Codes::kGroups / 2][64];
  float scale[kSuperVecs][16];
  float minimum[kSuperVecs][16];
};

template <int Bits, CodeList List>
struct KeepOpened {
  OpenedSuper<Bits, List>* to;

  FT_INLINE void quad(int v, int line, I16 bytes) const { int_store(to->quads[v][line], bytes); }
  FT_INLINE void multiple(int v, int group, I16 m) const {
    int_store(to->multiples[v][group],
              factors_for<kDotBits<Bits, List>, SuperCodes<Bits, List>::kQuads>(m));
  }
  FT_INLINE void minimum(int v, int pair, I16 m) const { int_store(to->minima[v][pair], m); }
};

// Asks for some units of the weights that follow, while a group of rows meets others. Into L2: what is
// opened and the rows fill L1.
template <int UnitBytes>
struct Following {
  const char* first;
  int units;

  FT_INLINE void operator()(int u) const {
    if (u >= units) return;
    for (int line = 0; line < UnitBytes; line += 64) prefetch_l2(first + u * UnitBytes + line);
  }
};
template <int Bits, CodeList List>
using FollowingUnits = Following<SuperCodes<Bits, List>::kUnitBytes>;

// The first rows, which open the super of `piece`.
template <int Bits, CodeList List, int R, int V>
__attribute__((noinline)) void run_opening_super(const SuperRows& rows, const char* piece, int half,
                                                 OpenedSuper<Bits, List>& to,
                                                 FollowingUnits<Bits, List> ask) {
  if constexpr (V == 2) half = 0;
  take_super<SuperCodes<Bits, List>, R, V>(rows, 0, piece, half, ask, KeepOpened<Bits, List>{&to});
  for (int v = 0; v < V; ++v) {
    store(to.scale[v], piece_scale(piece, half + v));
    if constexpr (SuperCodes<Bits, List>::kHasMinima)
      store(to.minimum[v], piece_minimum(piece, half + v));
  }
}

// Group g of N halves from `from` on: t = its part of the sum.
template <int Bits, CodeList List, int R, int N>
FT_INLINE void take_opened_group(const SuperRows& rows, const OpenedSuper<Bits, List>& weights,
                                 int from, int g, I16 (&t)[R][N]) {
  using Codes = SuperCodes<Bits, List>;
  const char* quads[N];
  I16 multiples[N];
  FT_UNROLL
  for (int v = 0; v < N; ++v) {
    quads[v] = weights.quads[from + v][g * Codes::kQuads];
    multiples[v] = int_load(weights.multiples[from + v][g]);
  }
  scaled_quads<kDotBits<Bits, List>, Codes::kQuads>(
      quads, rows.x + g * 4 * Codes::kQuads, rows.x_row_bytes, multiples,
      Codes::kHasMinima ? nullptr : rows.starts + g, rows.x_row_bytes / 4, t);
}

// Unit u of N halves from From on.
template <int Bits, CodeList List, int From, int N, int R, int V>
FT_INLINE void take_opened_unit(const SuperRows& rows, const OpenedSuper<Bits, List>& weights,
                                int u, V16 (&sum)[R][V]) {
  I16 t[R][N];
  if constexpr (SuperCodes<Bits, List>::kUnitGroups == 1) {
    take_opened_group<Bits, List>(rows, weights, From, u, t);
  } else {
    I16 more[R][N];
    take_opened_group<Bits, List>(rows, weights, From, 2 * u, t);
    take_opened_group<Bits, List>(rows, weights, From, 2 * u + 1, more);
    add_to(t, more);
  }
  add_unit<R, V, From, N>(rows, u, t, sum);
}

// Further rows.
template <int Bits, CodeList List, int R, int V>
__attribute__((noinline)) void run_opened_super(const SuperRows& rows,
                                                const OpenedSuper<Bits, List>& weights,
                                                FollowingUnits<Bits, List> ask) {
  using Codes = SuperCodes<Bits, List>;
  V16 sum[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = zero();
  }
  for (int u = 0; u < Codes::kUnits; ++u) {
    ask(u);
    if constexpr (V == 1 || is_joint<Codes>(R)) {
      take_opened_unit<Bits, List, 0, V>(rows, weights, u, sum);
    } else {
      take_opened_unit<Bits, List, 0, 1>(rows, weights, u, sum);
      take_opened_unit<Bits, List, 1, 1>(rows, weights, u, sum);
    }
  }
  V16 scale[V], minimum[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    scale[v] = load(weights.scale[v]);
    minimum[v] = Codes::kHasMinima ? load(weights.minimum[v]) : zero();
  }
  end_super<Codes>(rows, 0, sum, scale, minimum,
                   [&](int pair, int v) { return int_load(weights.minima[v][pair]); });
}

constexpr int kOpenedSuperRows = kFormRegisters == 32 ? 6 : 3;

// A group of rows; the first opens.
template <int Bits, CodeList List, int R>
void run_super_group(int count, bool opens, const SuperRows& rows, const char* piece, int half,
                     OpenedSuper<Bits, List>& weights, FollowingUnits<Bits, List> ask) {
  if (count < R) {
    if constexpr (R > 1)
      run_super_group<Bits, List, R - 1>(count, opens, rows, piece, half, weights, ask);
  } else if (opens) {
    run_opening_super<Bits, List, R, kSuperVecs>(rows, piece, half, weights, ask);
  } else {
    run_opened_super<Bits, List, R, kSuperVecs>(rows, weights, ask);
  }
}

template <int Bits, CodeList List>
void run_wide_supers(const GemmCall& call) {
  using Codes = SuperCodes<Bits, List>;
  OpenedSuper<Bits, List> opened;
  const auto piece_at = [&](int col, int k) {
    return static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
           std::int64_t{k / kSuperK} * Codes::kPieceBytes;
  };
  const RowGroups groups(call.rows, kOpenedSuperRows);
  for (int k = 0; k < call.k; k += kSuperK) {
    const bool last = k + kSuperK >= call.k;
    for (int col = 0; col < call.cols; col += kBlockCols) {
      const char* const piece = piece_at(col, k);
      const int next_col = col + kBlockCols;
      const char* const next =
          next_col < call.cols ? piece_at(next_col, k) : piece_at(0, k + kSuperK);
      for (int half = 0; half < 2 && col + half * 16 < call.cols; half += kSuperVecs) {
        const int first = col + half * 16;
        SuperRows rows = super_rows<Codes>(call, k);
        rows.supers = 1;
        rows.y = call.y + first;
        rows.cols = call.cols - first;
        if (last && call.bias != nullptr) rows.bias = call.bias + first;
        for (int g = 0, unit = 0; g < groups.count; ++g) {
          // Each group asks for its share, so that memory is read at an even pace.
          const int end = half > 0 ? 0 : Codes::kUnits * (g + 1) / groups.count;
          run_super_group<Bits, List, kOpenedSuperRows>(
              groups.rows(g), g == 0, rows, piece, half, opened,
              {next + Codes::kHeaderBytes + unit * Codes::kUnitBytes, end - unit});
          unit = end;
          rows.skip(groups.rows(g));
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
