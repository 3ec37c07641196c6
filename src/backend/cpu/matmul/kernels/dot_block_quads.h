#pragma once
// What all products of blocks with rounded input are made of: a quad of weights, taken out of its
// planes, meets some rows.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/simd/dot_quads.h"
#include "backend/cpu/simd/int_vectors.h"

namespace foretoken {
namespace {

// Of dot_quads.h: the width of codes as their product sees them.
template <int Bits, CodeList List>
constexpr int kDotBits = List == CodeList::kNone ? Bits : 8;

// What becomes of the bytes of quads beside their product: nothing.
struct KeepNoQuads {
  template <int Q>
  FT_INLINE void quad(int v, I16 bytes) const {
    (void)v, (void)bytes;
  }
};

// sum += quad Q of V halves from `half` on, half_bytes apart, with R rows of x.
template <class Codes, int Q, int R, int V, class Keep>
FT_INLINE void add_quad(const char* half, int half_bytes, const char* x, std::int64_t x_row_bytes,
                        I16 (&sum)[R][V], Keep keep) {
  I16 bytes[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    bytes[v] = Codes::template quad<Q>(half + v * half_bytes);
    keep.template quad<Q>(v, bytes[v]);
  }
  add_line<Codes::kIsListed ? 8 : 4>(bytes, x + Q * 4, x_row_bytes, sum);
}

// Quads from First on, four or eight.
template <class Codes, int First, int Quads, int R, int V, class Keep = KeepNoQuads>
FT_INLINE void add_group(const char* half, int half_bytes, const char* x, std::int64_t x_row_bytes,
                         I16 (&sum)[R][V], Keep keep = {}) {
  add_quad<Codes, First>(half, half_bytes, x, x_row_bytes, sum, keep);
  add_quad<Codes, First + 1>(half, half_bytes, x, x_row_bytes, sum, keep);
  add_quad<Codes, First + 2>(half, half_bytes, x, x_row_bytes, sum, keep);
  add_quad<Codes, First + 3>(half, half_bytes, x, x_row_bytes, sum, keep);
  if constexpr (Quads == 8)
    add_group<Codes, First + 4, 4>(half, half_bytes, x, x_row_bytes, sum, keep);
}

// Prefetches bytes_ahead behind `piece`, for the length of a piece.
FT_INLINE void ask_for_piece(const char* piece, const BlockLayout& b, int bytes_ahead) {
  for (int line = 0; line < b.piece_bytes; line += 64) prefetch_l1(piece + bytes_ahead + line);
}

}  // namespace
}  // namespace foretoken
