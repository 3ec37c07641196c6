#pragma once
// What all products of blocks with rounded input are made of: a quad of weights, taken out of its
// planes, meets some rows; or all quads of a group are laid into bytes for many rows.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/simd/dot_quads.h"
#include "backend/cpu/simd/int_vectors.h"

namespace foretoken {
namespace {

constexpr int kWideK = 512;     // opened at once: a multiple of every piece, and it fits into L1
constexpr int kBlocksK = 1024;  // of several groups of rows between two spills, the same
constexpr int kOpeningAhead = 4096;  // bytes that are asked for before they are opened

// Fewer rows read weights where they lie: opening takes about as long as reading them from memory.
#if defined(FT_DOT_VNNI)
constexpr int kLeastOpenedRows = kFormRegisters == 32 ? 17 : 3;
#else
constexpr int kLeastOpenedRows = kFormRegisters == 32 ? 7 : 3;
#endif

// Of dot_quads.h: the width of codes as their product sees them.
template <int Bits, CodeList List>
constexpr int kDotBits = List == CodeList::kNone ? Bits : 8;

// sum += quad Q of V halves from `half` on, half_bytes apart, with R rows of x.
template <class Codes, int Q, int R, int V>
FT_INLINE void add_quad(const char* half, int half_bytes, const char* x, std::int64_t x_row_bytes,
                        I16 (&sum)[R][V]) {
  I16 bytes[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) bytes[v] = Codes::template quad<Q>(half + v * half_bytes);
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
#ifdef FT_DOT_AT
    if constexpr (V == 1) {
      sum[r][0] = dot_at(sum[r][0], as_codes8(bytes[0]), x + r * x_row_bytes + Q * 4);
      continue;
    }
#endif
    const std::int32_t four = quad_of(x + r * x_row_bytes, Q);
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      if constexpr (Codes::kIsListed)
        sum[r][v] = dot(sum[r][v], as_codes8(bytes[v]), input8(four));
      else
        sum[r][v] = dot(sum[r][v], as_codes4(bytes[v]), input4(four));
    }
  }
}

// Quads from First on, four or eight.
template <class Codes, int First, int Quads, int R, int V>
FT_INLINE void add_group(const char* half, int half_bytes, const char* x, std::int64_t x_row_bytes,
                         I16 (&sum)[R][V]) {
  add_quad<Codes, First>(half, half_bytes, x, x_row_bytes, sum);
  add_quad<Codes, First + 1>(half, half_bytes, x, x_row_bytes, sum);
  add_quad<Codes, First + 2>(half, half_bytes, x, x_row_bytes, sum);
  add_quad<Codes, First + 3>(half, half_bytes, x, x_row_bytes, sum);
  if constexpr (Quads == 8) add_group<Codes, First + 4, 4>(half, half_bytes, x, x_row_bytes, sum);
}

// The quads of a unit's half as bytes, one line after the other.
template <class Codes, int First = 0>
FT_INLINE void open_half(const char* half, char (*to)[64]) {
  int_store(to[First], Codes::template quad<First>(half));
  if constexpr (First + 1 < kUnitQuads) open_half<Codes, First + 1>(half, to);
}

FT_INLINE void ask_for_unit(const char* unit, const BlockLayout& b, int bytes_ahead) {
  for (int ahead = 0; ahead < b.unit_bytes; ahead += 64) prefetch_l1(unit + bytes_ahead + ahead);
}

}  // namespace
}  // namespace foretoken
