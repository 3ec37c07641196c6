#pragma once
// Attention over KV of bf16 in tile order on 2D tile registers: the bits of TileLines in
// attention_bf16.h. Sixteen queries are the rows of a tile; pages of keys are tiles as they lie,
// and of values two pages side by side are copied once for all queries of an item. Items of few
// queries, trees, capped scores and heads that are no whole tiles are left to plain instructions. Tiles is the
// instruction set, as in tiles_bf16.h. For translation units of kernels only (v16.h).

#include "backend/cpu/attention/attention_bf16.h"
#include "backend/cpu/matmul/kernels/tiles_bf16.h"
#include "backend/cpu/simd/widening_vectors.h"

namespace foretoken {
namespace {

constexpr int kTileQueries = 8;  // fewer are not worth a tile
constexpr int kTilePositions = 32;
constexpr int kGroupQueries = 2 * kTileRows;

template <class Tiles>
class TileAttention : Bf16Attention<TileLines> {
 public:
  explicit TileAttention(const AttnItem& item)
      : Bf16Attention(item),
        tile_q_(reinterpret_cast<std::uint16_t*>(spare_scratch())),
        tile_p_(tile_q_ + rows_ * q_stride_),
        tile_v_(reinterpret_cast<char*>(tile_p_ + kGroupQueries * kAttnBlock)) {}

  void run() {
    begin();
    const bool is_whole = item_.head_dim % 32 == 0 && item_.value_dim % 32 == 0;
    if (item_.count < kTileQueries || !is_whole || item_.cap > 0) {
      walk_blocks([this](int start, States states) { add_block(start, states); });
      return;
    }
    Tiles::configure({});
    for (int i = 0; i < rows_; ++i)
      for (int d = 0; d < q_stride_; d += 16)
        store_bf16(tile_q_ + i * q_stride_ + d, i < item_.count ? query_part(i, d) : zero());
    walk_spans([this](int start, States states) { add_span(start, states); });
  }

 private:
  // Queries whose states, scores and weights stay in L1 for a span.
  struct Group {
    int first, end;
    Seen seen;

    bool has_both() const { return end - first > kTileRows; }
  };

  // Group by group in tiles as far as that can be done, block by block from there on.
  void add_span(int start, States states) {
    const int end = start + kAttnSpan;
    int tiles_end = start;
    while (tiles_end < end && copy_block(tiles_end)) tiles_end += kAttnBlock;
    const bool is_whole = tiles_end == end;
    for (int first = 0; first < item_.count; first += kGroupQueries) {
      const int count = left(first, kGroupQueries);
      // One group's after another's in the same place, where nothing wants them afterwards.
      const States own = is_whole && !is_divided() ? states : from(states, first);
      clear(own, count);
      for (int at = start; at < tiles_end; at += kAttnBlock)
        add_tiles(first, first + count, at, own);
      if (is_whole) end_span(own, first, count);
    }
    if (is_whole) return;
    for (int at = tiles_end; at < end; at += kAttnBlock) add_block(at, states);
    end_span(states, 0, item_.count);
  }
  bool copy_block(int start) {
    const Seen seen = seen_of(start);
    if (seen.begin >= seen.end) return true;
    return !seen.has_nodes && copy_values(start, seen);
  }
  // The block from start on joins the states of queries [first, end), a group.
  void add_tiles(int first, int end, int start, States states) const {
    const Group group{first, end, seen_of(start, first, end)};
    if (group.seen.begin >= group.seen.end) return;
    add_scores(group, start);
    const bool is_whole = group.seen.all_begin == start && group.seen.all_end == start + kAttnBlock;
    float m[kGroupQueries], l[kGroupQueries];
    for (int i = 0; i < end - first; i += kTileRows)
      if (is_whole)
        soften_tile<true>(first + i, i, start, m + i, l + i);
      else
        soften_tile<false>(first + i, i, start, m + i, l + i);
    add_values_of(group, start);
    join_states(states, {block_o(0), m, l}, end - first, dim_);
  }

  void add_scores(const Group& group, int start) const {
    const int begin = group.seen.begin / kAttnSlots, end = ceil_div(group.seen.end, kAttnSlots);
    for (int p = begin / 2 * 2; p < end; p += 2) {
      // Of a pair one may hold nothing for the group: then there may be no such page.
      const char* k0 = page(item_.k, p < begin ? begin : p);
      const char* k1 = page(item_.k, p + 1 < end ? p + 1 : p);
      const std::uint16_t* q = tile_q_ + group.first * q_stride_;
      clear_sums();
      for (int d = 0; d < item_.head_dim; d += 32, q += 32, k0 += kTileBytes, k1 += kTileBytes)
        add_products(group.has_both(), q, q_stride_ * 2, k0, k1);
      store_sums(group.has_both(), scores(0) + (p * kAttnSlots - start), kAttnBlock);
    }
  }
  // The first of block_o, of a group.
  void add_values_of(const Group& group, int start) const {
    const int begin = (group.seen.begin - start) / kTilePositions;
    const int end = ceil_div(group.seen.end - start, kTilePositions);
    for (int d = 0; d < item_.value_dim; d += 32) {
      clear_sums();
      for (int block = begin; block < end; ++block) {
        const char* v = tile_v(start) + (block * (item_.value_dim / 16) + d / 16) * kTileBytes;
        add_products(group.has_both(), tile_p_ + block * kTilePositions, kAttnBlock * 2, v,
                     v + kTileBytes);
      }
      store_sums(group.has_both(), block_o(0) + d, dim_);
    }
  }

  // Sums [2][2] tiles in registers 0 .. 3 += A rows of 32 in registers 4, 5 times lines in 6, 7;
  // the second sixteen rows of A if there are both.
  static FT_INLINE void clear_sums() {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  static FT_INLINE void add_products(bool both, const std::uint16_t* a, std::int64_t a_row,
                                     const char* b0, const char* b1) {
    Tiles::template load_once<6>(b0, kLineBytes);
    Tiles::template load<4>(a, a_row);
    Tiles::template dot<0, 4, 6>();
    Tiles::template load_once<7>(b1, kLineBytes);
    Tiles::template dot<1, 4, 7>();
    if (!both) return;
    Tiles::template load<5>(reinterpret_cast<const char*>(a) + kTileRows * a_row, a_row);
    Tiles::template dot<2, 5, 6>();
    Tiles::template dot<3, 5, 7>();
  }
  static FT_INLINE void store_sums(bool both, float* to, std::int64_t row) {
    Tiles::template store<0>(to, row * 4);
    Tiles::template store<1>(to + 16, row * 4);
    if (!both) return;
    Tiles::template store<2>(to + kTileRows * row, row * 4);
    Tiles::template store<3>(to + kTileRows * row + 16, row * 4);
  }

  // Scores of 16 queries from i on, row `row` and more of the group's, to weights, as soften() does
  // it; those that there are not see nothing.
  template <bool kWhole>
  void soften_tile(int i, int row, int start, float* m, float* l) const {
    constexpr int kGroups = kAttnBlock / 16;
    float* s = scores(row);
    std::uint16_t* p = tile_p_ + row * kAttnBlock;
    const V16 scale = set1(item_.scale), nothing = set1(-__builtin_inff());
    V16 rows[kTileRows];
    unsigned blind = 0;  // those that see nothing
    for (int r = 0; r < kTileRows; ++r) {
      const Lanes seen = kWhole ? Lanes{} : lanes_seen(i + r, start);
      if (!kWhole && (seen.half[0] | seen.half[1]) == 0) blind |= 1U << r;
      V16 top = nothing;
      for (int g = 0; g < kGroups; ++g) {
        float* const at = s + r * kAttnBlock + g * 16;
        V16 a = load(at);
        if constexpr (!kWhole) {
          a = select(lanes(seen.of(g)), a, nothing);
          store(at, a);
        }
        top = max(top, a);
      }
      rows[r] = top;
    }
    // The scale is above 0: the greatest score is the greatest sum's.
    const V16 most = mul(reduce_rows_max(rows), scale);
    store(m, select(lanes(static_cast<std::uint16_t>(blind)), zero(), most));
    for (int r = 0; r < kTileRows; ++r, s += kAttnBlock, p += kAttnBlock) {
      const V16 maximum = set1(m[r]);
      V16 sum = zero();
      V16 e[kGroups];
      each<1, kGroups>([&](int, int g) { e[g] = sub(mul(load(s + g * 16), scale), maximum); });
      exp2_not_above_zero<kWeightDegree>(e);
      each<1, kGroups / 2>(
          [&](int, int g) { int_store(p + g * 32, bf16_words(e[2 * g], e[2 * g + 1])); });
      each<1, kGroups>([&](int, int g) { sum = add(sum, e[g]); });
      rows[r] = sum;
    }
    store(l, reduce_rows_sum(rows));
  }

  // Positions of a block that a query sees, sixteen at a time.
  struct Lanes {
    std::uint64_t half[2];
    std::uint16_t of(int g) const {
      return static_cast<std::uint16_t>(half[g / 4] >> (g % 4 * 16));
    }
  };
  Lanes lanes_seen(int i, int start) const {
    if (i >= item_.count) return {};
    const int lo = low(i, start) - start, hi = high(i, start) - start;
    const auto below = [](int n) { return n >= 64 ? ~0ULL : n <= 0 ? 0ULL : (1ULL << n) - 1; };
    return {below(hi) & ~below(lo), below(hi - 64) & ~below(lo - 64)};
  }

  char* tile_v(int start) const {
    return tile_v_ + start % kAttnSpan / kTilePositions * (item_.value_dim / 16) * kTileBytes;
  }
  // Values of the block in tiles [kAttnBlock / 32][dim / 16] of sixteen pairs of positions, 0 where
  // no query looks. False where a value that only some of the queries see is not finite: 0 times
  // that would be seen by the others.
  bool copy_values(int start, const Seen& seen) {
    values_.take_block(seen.begin, seen.shared_end);
    bool finite = true;
    const int first = (seen.begin - start) / kTilePositions * kSumPairs;
    const int end = ceil_div(seen.end - start, kTilePositions) * kSumPairs;
    for (int pair = first; pair < end; ++pair) {
      const int position = start + pair * 2;
      char* to = tile_v(start) + pair / kSumPairs * (item_.value_dim / 16) * kTileBytes +
                 pair % kSumPairs * kLineBytes;
      std::uint32_t kept = 0;  // of a pair
      if (position >= seen.begin && position < seen.end) kept |= 0xffffU;
      if (position + 1 >= seen.begin && position + 1 < seen.end) kept |= 0xffff0000U;
      const char* from = nullptr;
      if (kept != 0) from = value_page(position) + pair % kPagePairs * value_row_bytes();
      if (kept == ~0U)
        copy_pair(from, to);
      else
        copy_part(from, kept, to);
      const bool check = kept != 0 && (position < seen.all_begin || position + 1 >= seen.all_end);
      if (check && finite) finite = is_finite(from, kept);
    }
    return finite;
  }
  // A row of a page to a row of each tile.
  void copy_pair(const char* from, char* to) const {
    for (int d = 0; d < item_.value_dim; d += 16, from += kLineBytes, to += kTileBytes)
      store(reinterpret_cast<float*>(to), load(reinterpret_cast<const float*>(from)));
  }
  void copy_part(const char* from, std::uint32_t kept, char* to) const {
    for (int d = 0; d < item_.value_dim; d += 16, to += kTileBytes) {
      std::uint32_t line[16] = {};
      if (kept != 0) __builtin_memcpy(line, from + d * 4, sizeof line);
      for (std::uint32_t& pair : line) pair &= kept;
      __builtin_memcpy(to, line, sizeof line);
    }
  }

  bool is_finite(const char* from, std::uint32_t kept) const {
    std::uint32_t worst = 0;
    for (int d = 0; d < item_.value_dim; ++d) {
      std::uint32_t pair;
      __builtin_memcpy(&pair, from + d * 4, sizeof pair);
      pair &= kept;
      worst |= static_cast<std::uint32_t>((pair & 0x7f80U) == 0x7f80U) |
               static_cast<std::uint32_t>((pair & 0x7f800000U) == 0x7f800000U);
    }
    return worst == 0;
  }

  std::uint16_t* tile_q_;  // [rows_, q_stride_]
  std::uint16_t* tile_p_;  // [kGroupQueries, kAttnBlock]
  char* tile_v_;           // of a span [kAttnSpan / 32][dim / 16] tiles
};

template <class Tiles>
void tile_attention_item(const AttnItem& item) {
  TileAttention<Tiles>(item).run();
}

}  // namespace
}  // namespace foretoken
