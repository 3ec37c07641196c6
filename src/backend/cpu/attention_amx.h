#pragma once
// Attention over KV of bf16 in tile order on 2D tile registers: the bits of TileLines in
// attention_bf16.h. Sixteen queries are the rows of a tile; pages of keys are tiles as they lie,
// and of values two pages side by side are copied once for all queries of an item. Items of few
// queries, trees and heads that are no whole tiles are left to plain instructions. Tiles is the
// instruction set, as in gemm_amx.h. For translation units of kernels only (v16.h).

#include "backend/cpu/attention_bf16.h"
#include "backend/cpu/gemm_amx.h"

namespace foretoken {
namespace {

constexpr int kTileQueries = 8;  // fewer are not worth a tile
constexpr int kTilePositions = 32;

template <class Tiles>
class TileAttention : Bf16Attention<TileLines> {
 public:
  explicit TileAttention(const AttnItem& item)
      : Bf16Attention(item),
        tile_q_(reinterpret_cast<std::uint16_t*>(spare_scratch())),
        tile_p_(tile_q_ + rows_ * q_stride_),
        tile_v_(reinterpret_cast<char*>(tile_p_ + rows_ * kAttnBlock)) {}

  void run() {
    begin();
    if (item_.count < kTileQueries || item_.head_dim % 32 != 0) {
      walk_spans(span_, total_, [this](int start, float* state) { add_block(start, state); });
      return;
    }
    Tiles::configure();
    for (int i = 0; i < rows_; ++i)
      for (int d = 0; d < q_stride_; d += 16)
        store_bf16(tile_q_ + i * q_stride_ + d, i < item_.count ? query_part(i, d) : zero());
    walk_spans(span_, total_, [this](int start, float* state) { add_tiles(start, state); });
  }

 private:
  void add_tiles(int start, float* state) {
    const Seen seen = seen_of(start);
    if (seen.begin >= seen.end) return;
    if (seen.has_nodes) {
      add_block(start, state);
      return;
    }
    score_tiles(start, seen);
    float m[kAttnMaxQueries], l[kAttnMaxQueries];
    const V16 scale = set1(item_.scale);
    for (int i = 0; i < rows_; ++i) {
      std::uint16_t* p = tile_p_ + i * kAttnBlock;
      for (int j = 0; j < kAttnBlock; j += 16) store_bf16(p + j, zero());
      if (i >= item_.count) continue;
      soften(
          i, start, scores(i), [scale](V16 a) { return mul(a, scale); },
          [p](int at, V16 e) { store_bf16(p + at, e); }, &m[i], &l[i]);
    }
    if (copy_values(start, seen)) {
      add_value_tiles((seen.begin - start) / kTilePositions,
                      ceil_div(seen.end - start, kTilePositions));
    } else {
      for (int i = 0; i < item_.count; ++i)
        for (int j = 0; j < kAttnBlock; j += 16)
          store(weights(i) + j, load_bf16(tile_p_ + i * kAttnBlock + j));
      add_values(start, seen);
    }
    join_block(state, m, l);
  }

  void score_tiles(int start, const Seen& seen) {
    const int end = ceil_div(seen.end, kAttnSlots);
    for (int tile = 0; tile * kTileRows < rows_; tile += 2) {
      const bool both = (tile + 1) * kTileRows < rows_;
      for (int p = seen.begin / kAttnSlots; p < end; p += 2) {
        float* to = scores(tile * kTileRows) + (p * kAttnSlots - start);
        const std::uint16_t* q = tile_q_ + tile * kTileRows * q_stride_;
        const char* first = page(item_.k, p);
        if (both && p + 1 < end)
          score_pages<2, 2>(q, first, page(item_.k, p + 1), to);
        else if (both)
          score_pages<2, 1>(q, first, first, to);
        else if (p + 1 < end)
          score_pages<1, 2>(q, first, page(item_.k, p + 1), to);
        else
          score_pages<1, 1>(q, first, first, to);
      }
    }
  }

  // Sums [Q][P] tiles in registers 0 .. 3 = A rows in registers 4, 5 times lines in 6, 7.
  template <int Q, int P>
  static FT_INLINE void clear_sums() {
    Tiles::template zero<0>();
    if constexpr (P == 2) Tiles::template zero<1>();
    if constexpr (Q == 2) Tiles::template zero<2>();
    if constexpr (Q == 2 && P == 2) Tiles::template zero<3>();
  }
  template <int Q, int P>
  static FT_INLINE void add_products(const void* a, std::int64_t next_a, std::int64_t a_row,
                                     const void* b0, const void* b1) {
    Tiles::template load<6>(b0, kLineBytes);
    Tiles::template load<4>(a, a_row);
    Tiles::template dot<0, 4, 6>();
    if constexpr (P == 2) {
      Tiles::template load<7>(b1, kLineBytes);
      Tiles::template dot<1, 4, 7>();
    }
    if constexpr (Q == 2) {
      Tiles::template load<5>(static_cast<const char*>(a) + next_a, a_row);
      Tiles::template dot<2, 5, 6>();
      if constexpr (P == 2) Tiles::template dot<3, 5, 7>();
    }
  }
  template <int Q, int P>
  static FT_INLINE void store_sums(float* to, std::int64_t row) {
    Tiles::template store<0>(to, row * 4);
    if constexpr (P == 2) Tiles::template store<1>(to + 16, row * 4);
    if constexpr (Q == 2) Tiles::template store<2>(to + kTileRows * row, row * 4);
    if constexpr (Q == 2 && P == 2) Tiles::template store<3>(to + kTileRows * row + 16, row * 4);
  }

  template <int Q, int P>
  void score_pages(const std::uint16_t* q, const char* k0, const char* k1, float* to) const {
    clear_sums<Q, P>();
    const std::int64_t row = q_stride_ * 2;
    for (int d = 0; d < item_.head_dim; d += 32) {
      const std::int64_t tile = d / 32 * kTileBytes;
      add_products<Q, P>(q + d, kTileRows * row, row, k0 + tile, k1 + tile);
    }
    store_sums<Q, P>(to, kAttnBlock);
  }

  // Values of the block in tiles [kAttnBlock / 32][dim / 16] of sixteen pairs of positions, 0 where
  // no query looks; and asks for the keys of the next block. False where a value that only some of
  // the queries see is not finite: 0 times that would be seen by the others.
  bool copy_values(int start, const Seen& seen) const {
    bool finite = true;
    const int first = (seen.begin - start) / kTilePositions * kSumPairs;
    const int end = ceil_div(seen.end - start, kTilePositions) * kSumPairs;
    for (int pair = first; pair < end; ++pair) {
      const int position = start + pair * 2;
      std::uint32_t kept = 0;  // of a pair
      if (position >= seen.begin && position < seen.end) kept |= 0xffffU;
      if (position + 1 >= seen.begin && position + 1 < seen.end) kept |= 0xffff0000U;
      const bool check = kept != 0 && (position < seen.all_begin || position + 1 >= seen.all_end);
      const char* from = nullptr;
      if (kept != 0)
        from = page(item_.v, position / kAttnSlots) + pair % kPagePairs * value_row_bytes();
      copy_pair(from, kept,
                tile_v_ + pair / kSumPairs * (item_.head_dim / 16) * kTileBytes +
                    pair % kSumPairs * kLineBytes);
      if (check && finite) finite = is_finite(from, kept);
      if (kept != 0 && position / kAttnSlots + kAttnBlock / kAttnSlots < pages_) {
        const char* ahead = page(item_.k, position / kAttnSlots + kAttnBlock / kAttnSlots) +
                            pair % kPagePairs * value_row_bytes();
        for (int line = 0; line < value_row_bytes(); line += kLineBytes) prefetch_l1(ahead + line);
      }
    }
    return finite;
  }
  // A row of a page to a row of each tile.
  void copy_pair(const char* from, std::uint32_t kept, char* to) const {
    for (int d = 0; d < item_.head_dim; d += 16, to += kTileBytes) {
      std::uint32_t line[16] = {};
      if (kept != 0) __builtin_memcpy(line, from + d * 4, sizeof line);
      for (std::uint32_t& pair : line) pair &= kept;
      __builtin_memcpy(to, line, sizeof line);
    }
  }
  bool is_finite(const char* from, std::uint32_t kept) const {
    std::uint32_t worst = 0;
    for (int d = 0; d < item_.head_dim; ++d) {
      std::uint32_t pair;
      __builtin_memcpy(&pair, from + d * 4, sizeof pair);
      pair &= kept;
      worst |= static_cast<std::uint32_t>((pair & 0x7f80U) == 0x7f80U) |
               static_cast<std::uint32_t>((pair & 0x7f800000U) == 0x7f800000U);
    }
    return worst == 0;
  }

  // block_o of all queries over blocks [first, end) of 32 positions.
  void add_value_tiles(int first, int end) {
    for (int tile = 0; tile * kTileRows < rows_; tile += 2) {
      const bool both = (tile + 1) * kTileRows < rows_;
      for (int d = 0; d < item_.head_dim; d += 32) {
        const std::uint16_t* p = tile_p_ + tile * kTileRows * kAttnBlock;
        float* to = block_o(tile * kTileRows) + d;
        if (both)
          sum_values<2>(p, first, end, d, to);
        else
          sum_values<1>(p, first, end, d, to);
      }
    }
  }
  template <int Q>
  void sum_values(const std::uint16_t* p, int first, int end, int d, float* to) const {
    clear_sums<Q, 2>();
    constexpr std::int64_t kRow = kAttnBlock * 2;
    for (int block = first; block < end; ++block) {
      const char* v = tile_v_ + (block * (item_.head_dim / 16) + d / 16) * kTileBytes;
      add_products<Q, 2>(p + block * kTilePositions, kTileRows * kRow, kRow, v, v + kTileBytes);
    }
    store_sums<Q, 2>(to, dim_);
  }

  std::uint16_t* tile_q_;  // [rows_, q_stride_]
  std::uint16_t* tile_p_;  // [rows_, kAttnBlock]
  char* tile_v_;
};

template <class Tiles>
void tile_attention_item(const AttnItem& item) {
  TileAttention<Tiles>(item).run();
}

}  // namespace
}  // namespace foretoken
