#pragma once
// Attention over KV of bf16. Queries and weights of values are rounded to bf16, so that scores and
// sums of values are products of bf16 like those of a GEMM, in one of its two orders: over the
// head's dimensions, and over the positions of a block, in which 32 begin at multiples of 32. What
// a row does not see has no part in its sums; at most a zero times zero is added, which can change
// the sign of a zero and nothing else: sums of values end with + 0, and no score's sign of zero is
// ever seen. So registers and tiles of any shape give the same bits.
// Pages hold pairs (host_step.h): keys [dim / 2][slots][2], values [slots / 2][dim][2], in lines of
// sixteen pairs. Order is how lines are multiplied: below with plain fused multiply-adds, which
// define the numbers; attention_dot.h, attention_amx.h otherwise.
// For translation units of kernels only (v16.h).

#include "backend/cpu/attention/attention_common.h"
#include "backend/cpu/attention/value_pages.h"
#include "backend/cpu/simd/row_reach.h"

namespace foretoken {
namespace {

constexpr int kLineBytes = 64;
constexpr int kSumPairs = 16;  // of a block of 32
constexpr int kBlockPairs = kAttnBlock / 2;
constexpr int kPagePairs = kAttnSlots / 2;
constexpr int kWeightDegree = 3;  // of 2^x, which is rounded to bf16

// Keys of V pages: a line is sixteen slots of two dimensions.
template <int V>
struct KeyLines {
  const char* keys[V];
  const char* ahead[V];  // of as many lines that are wanted next

  FT_INLINE const char* at(int pair, int v) const { return keys[v] + pair * kLineBytes; }
  FT_INLINE void prefetch(int pair) const {
    FT_UNROLL
    for (int v = 0; v < V; ++v) prefetch_l1(ahead[v] + pair * kLineBytes);
  }
};

// V neighbouring lines of two positions, which are sixteen dimensions each.
template <int V>
struct ValueLines {
  const char* const* rows;   // of pairs of positions
  const char* const* ahead;  // of pages' parts that are wanted next; null: none
  std::int64_t offset, ahead_offset;

  FT_INLINE const char* at(int pair, int v) const { return rows[pair] + offset + v * kLineBytes; }
  FT_INLINE void prefetch(int pair) const {
    if (ahead == nullptr) return;
    FT_UNROLL
    for (int v = 0; v < V; ++v) prefetch_l1(ahead[pair] + ahead_offset + v * kLineBytes);
  }
};

// The last line of a head whose dimensions do not fill it: what lies behind is not read.
struct LastValueLine {
  const char* const* rows;
  std::int64_t offset;
  int dims;
  mutable std::uint32_t line[16] = {};

  FT_INLINE const char* at(int pair, int) const {
    for (int i = 0; i < dims; ++i) __builtin_memcpy(line + i, rows[pair] + offset + i * 4, 4);
    return reinterpret_cast<const char*>(line);
  }
  FT_INLINE void prefetch(int) const {}
};

// Rows of sums over pairs [first, end): row r of `to` joins row r of `a` times the lines.
template <typename A>
struct Products {
  const A* a;  // [rows][pairs][2]
  std::int64_t a_stride;
  float* to;
  std::int64_t to_stride;
  int first, end;
  bool fresh;  // the sums begin at 0
};

template <int R, int V, typename A>
FT_INLINE void load_sums(const Products<A>& p, V16 (&sum)[R][V]) {
  each<R, V>(
      [&](int r, int v) { sum[r][v] = p.fresh ? zero() : load(p.to + r * p.to_stride + v * 16); });
}
template <int R, int V, typename A>
FT_INLINE void store_sums(const Products<A>& p, const V16 (&sum)[R][V]) {
  each<R, V>([&](int r, int v) { store(p.to + r * p.to_stride + v * 16, sum[r][v]); });
}

FT_INLINE V16 even_of_line(const char* line) {
  return even_bf16(reinterpret_cast<const std::uint16_t*>(line));
}
FT_INLINE V16 odd_of_line(const char* line) {
  return odd_bf16(reinterpret_cast<const std::uint16_t*>(line));
}

// What both orders by plain FMAs are given: numbers rounded to bf16, kept as float32.
struct RoundedFloats {
  using A = float;
  static FT_INLINE void put(A* to, V16 a) { store(to, round_bf16(a)); }
  static FT_INLINE void put_weights(A* to, V16 a) { store(to, round_plain_bf16(a)); }
};

// Sums of 32 from 0, even and odd apart, then added.
struct TileLines : RoundedFloats {
  static constexpr int kRows = kRegisters == 32 ? 6 : 2;
  static constexpr int kVecs = kRegisters == 32 ? 2 : 1;

  template <int R, int V, typename Lines>
  static __attribute__((noinline)) void run(const Products<A>& p, const Lines& lines) {
    bool fresh = p.fresh;
    for (int pair = p.first; pair < p.end; fresh = false) {
      const int next = (pair / kSumPairs + 1) * kSumPairs, end = next < p.end ? next : p.end;
      V16 even[R][V], odd[R][V];
      each<R, V>([&](int r, int v) { even[r][v] = odd[r][v] = zero(); });
      for (; pair < end; ++pair) {
        lines.prefetch(pair);
        const A* a = p.a + pair * 2;
        V16 b0[V], b1[V];
        each<1, V>([&](int, int v) { b0[v] = even_of_line(lines.at(pair, v)); });
        each<1, V>([&](int, int v) { b1[v] = odd_of_line(lines.at(pair, v)); });
        FT_UNROLL
        for (int r = 0; r < R; ++r) {
          const V16 a0 = set1(a[r * p.a_stride]), a1 = set1(a[r * p.a_stride + 1]);
          each<1, V>([&](int, int v) { even[r][v] = fma(b0[v], a0, even[r][v]); });
          each<1, V>([&](int, int v) { odd[r][v] = fma(b1[v], a1, odd[r][v]); });
        }
      }
      each<R, V>([&](int r, int v) {
        float* to = p.to + r * p.to_stride + v * 16;
        const V16 sum = add(even[r][v], odd[r][v]);
        store(to, fresh ? sum : add(load(to), sum));
      });
    }
  }
};

// One chain, in each pair odd before even.
struct PairLines : RoundedFloats {
  static constexpr int kRows = kRegisters == 32 ? 12 : kRegisters == 8 ? 4 : 2;
  static constexpr int kVecs = kRegisters == 32 ? 2 : 1;

  template <int R, int V, typename Lines>
  static __attribute__((noinline)) void run(const Products<A>& p, const Lines& lines) {
    V16 sum[R][V];
    load_sums(p, sum);
    for (int pair = p.first; pair < p.end; ++pair) {
      lines.prefetch(pair);
      const A* a = p.a + pair * 2;
      V16 b[V];
      each<1, V>([&](int, int v) { b[v] = odd_of_line(lines.at(pair, v)); });
      each<R, 1>([&](int r, int) { add_chain(b, a[r * p.a_stride + 1], sum[r]); });
      each<1, V>([&](int, int v) { b[v] = even_of_line(lines.at(pair, v)); });
      each<R, 1>([&](int r, int) { add_chain(b, a[r * p.a_stride], sum[r]); });
    }
    store_sums(p, sum);
  }

 private:
  template <int V>
  static FT_INLINE void add_chain(const V16 (&b)[V], float a, V16 (&sum)[V]) {
    const V16 all = set1(a);
    each<1, V>([&](int, int v) { sum[v] = fma(b[v], all, sum[v]); });
  }
};

// Calls Order::run for a number of rows from 1 to Order::kRows.
template <typename Order, int V, int R = Order::kRows, typename Lines>
FT_INLINE void add_rows(int rows, const Products<typename Order::A>& p, const Lines& lines) {
  if constexpr (R == 1)
    Order::template run<1, V>(p, lines);
  else if (rows == R)
    Order::template run<R, V>(p, lines);
  else
    add_rows<Order, V, R - 1>(rows, p, lines);
}

template <typename Order>
class Bf16Attention : protected ItemQueries {
 public:
  using A = typename Order::A;

  explicit Bf16Attention(const AttnItem& item)
      : ItemQueries(item),
        rows_(round_up(item.count, 16)),
        q_stride_(round_up(item.head_dim, 32)),
        pages_(count_pages()),
        scores_(scratch()),
        tree_scores_(scores_ + rows_ * kAttnBlock),
        block_o_(tree_scores_ + rows_ * kTreeSlots),
        q_(block_o_ + rows_ * dim_),
        gathered_(q_ + rows_ * q_stride_),
        values_(item, gathered_ + kSumPairs * dim_, tree_pages()),
        end_(values_.end()) {}

  void run() {
    begin();
    walk_blocks([this](int start, States states) { add_block(start, states); });
  }

 protected:
  void begin() {
    for (int i = 0; i < item_.count; ++i)
      for (int d = 0; d < q_stride_; d += 16) Order::put(queries(i) + d, query_part(i, d));
    const int pages = tree_pages();
    values_.take_tree(pages);
    if (pages > 0) score(item_.tree_start / kAttnSlots, pages, tree_scores_, kTreeSlots);
  }

  // Dimensions d .. d + 15 of a query, 0 where there are none.
  V16 query_part(int i, int d) const { return load_upto(query(i) + d, item_.head_dim - d); }

  // Positions [start, start + kAttnBlock) join the state of every query that sees some of them.
  void add_block(int start, States states) {
    const Seen seen = seen_of(start);
    if (seen.begin >= seen.end) return;
    const int first_page = seen.begin / kAttnSlots;
    if (seen.shared_end > seen.begin)
      score(first_page, (seen.shared_end - 1) / kAttnSlots - first_page + 1,
            scores_ + (first_page * kAttnSlots - start), kAttnBlock);
    values_.take_block(seen.begin, seen.shared_end);
    float m[kAttnMaxQueries], l[kAttnMaxQueries];
    const V16 scale = set1(item_.scale);
    for (int i = 0; i < item_.count; ++i) {
      if (seen.has_nodes) order_tree_scores(i, start, tree_scores_, scores(i));
      A* p = weights(i);
      const auto put = [p](int at, V16 e) { Order::put_weights(p + at, e); };
      if (item_.cap > 0)
        soften_capped<kWeightDegree>(i, start, scores(i), item_.scale, put, &m[i], &l[i]);
      else
        soften<kWeightDegree>(
            i, start, scores(i), [scale](V16 a) { return mul(a, scale); }, put, &m[i], &l[i]);
    }
    add_values(start, seen);
    join_states(states, {block_o_, m, l}, item_.count, dim_);
  }

  // What is left of the item's scratch, in whole cache lines.
  float* spare_scratch() const {
    return item_.scratch + round_up(end_ - item_.scratch, std::int64_t{16});
  }

  float* block_o(int i) const { return block_o_ + static_cast<std::int64_t>(i) * dim_; }
  float* scores(int i) const { return scores_ + static_cast<std::int64_t>(i) * kAttnBlock; }
  A* queries(int i) const {
    return reinterpret_cast<A*>(q_) + static_cast<std::int64_t>(i) * q_stride_;
  }
  // Weights take the place of the scores that they were made of.
  A* weights(int i) const { return reinterpret_cast<A*>(scores(i)); }
  static constexpr std::int64_t kWeightStride = kAttnBlock * sizeof(float) / sizeof(A);

  const char* page(const void* kv, int index) const {
    return static_cast<const char*>(kv) + item_.pages[index] * item_.page_stride * 2;
  }
  // The page of values that a slot lies in.
  const char* value_page(int slot) const {
    return reinterpret_cast<const char*>(values_.page_of(slot));
  }
  // The page, or what stands for it where the sequence has no such page.
  const char* page_ahead(const void* kv, int index, const char* otherwise) const {
    return index < pages_ ? page(kv, index) : otherwise;
  }
  // A pair of values of a page: [dim][2].
  std::int64_t value_row_bytes() const { return std::int64_t{4} * item_.value_dim; }

  // All queries against whole pages, to rows `stride` apart.
  void score(int first_page, int pages, float* to, int stride) const {
    const int groups = ceil_div(item_.count, Order::kRows);
    const int most = ceil_div(item_.count, groups);
    for (int i = 0; i < item_.count; i += most) {
      const int rows = left(i, most);
      int p = 0;
      for (; p + Order::kVecs <= pages; p += Order::kVecs)
        score_pages<Order::kVecs>(i, rows, first_page + p, to + p * kAttnSlots, stride);
      for (; p < pages; ++p) score_pages<1>(i, rows, first_page + p, to + p * kAttnSlots, stride);
    }
  }
  template <int V>
  void score_pages(int first, int rows, int first_page, float* to, int stride) const {
    KeyLines<V> lines;
    for (int v = 0; v < V; ++v) {
      lines.keys[v] = page(item_.k, first_page + v);
      // Where values are parts of keys they are there already.
      lines.ahead[v] =
          item_.v == nullptr ? lines.keys[v] : page_ahead(item_.v, first_page + v, lines.keys[v]);
    }
    add_rows<Order, V>(rows,
                       {.a = queries(first),
                        .a_stride = q_stride_,
                        .to = to + std::int64_t{first} * stride,
                        .to_stride = stride,
                        .first = 0,
                        .end = item_.head_dim / 2,
                        .fresh = true},
                       lines);
  }

  // block_o of all queries. A block of 32 that all of them see takes many queries at a time; of one
  // in which the sight of some begins or ends, the queries of a row are taken together.
  void add_values(int start, const Seen& seen) {
    for (int i = 0; i < item_.count; ++i)
      for (int d = 0; d < dim_; d += 16) store(block_o(i) + d, zero());
    const char* rows[kBlockPairs];
    const char* ahead[kBlockPairs];
    list_rows(start, seen, rows, ahead);
    for (int at = 0; at < kAttnBlock;) {
      int end = at;
      while (end < kAttnBlock && all_see(start, end, seen)) end += 32;
      if (end > at) {
        add_to_all(at / 2, end / 2, rows, ahead);
        at = end;
      } else {
        add_by_row(start, at, seen, rows);
        at += 32;
      }
    }
  }

  // Where pairs of the block's positions lie, as far as they are no nodes, and what to ask for
  // meanwhile: the keys of the next block.
  void list_rows(int start, const Seen& seen, const char** rows, const char** ahead) const {
    const int first_page = start / kAttnSlots;
    const int end_page = ceil_div(seen.shared_end, kAttnSlots);
    for (int p = (seen.begin - start) / kAttnSlots; first_page + p < end_page; ++p) {
      const char* values = value_page((first_page + p) * kAttnSlots);
      const char* next = page_ahead(item_.k, first_page + p + kAttnBlock / kAttnSlots, values);
      for (int j = 0; j < kPagePairs; ++j) {
        rows[p * kPagePairs + j] = values + j * value_row_bytes();
        ahead[p * kPagePairs + j] = next + j * (Order::kVecs * kLineBytes);
      }
    }
  }

  static bool all_see(int start, int at, const Seen& seen) {
    if (seen.has_nodes && seen.shared_end < start + at + 32) return false;
    return seen.all_begin <= start + at && seen.all_end >= start + at + 32;
  }

  void add_to_all(int first_pair, int end_pair, const char* const* rows, const char* const* ahead) {
    const int groups = ceil_div(item_.count, Order::kRows);
    const int most = ceil_div(item_.count, groups);
    for (int i = 0; i < item_.count; i += most)
      add_pairs(i, left(i, most), first_pair, end_pair, rows, i == 0 ? ahead : nullptr);
  }

  void add_by_row(int start, int at, const Seen& seen, const char* const* rows) {
    for (int i = 0; i < item_.count;) {
      const int same_row = left(i, item_.group - head_of(i));
      const int lo = low(i, start + at), hi = high_of(i, start, at);
      if (lo < hi) {
        const char* own[kBlockPairs];
        gather_rows(i, start, lo - start, hi - start, seen, rows, own);
        for (int j = 0; j < same_row; j += Order::kRows) {
          const int count = same_row - j < Order::kRows ? same_row - j : Order::kRows;
          add_pairs(i + j, count, (lo - start) / 2, ceil_div(hi - start, 2), own, nullptr);
        }
      }
      i += same_row;
    }
  }
  // One past the last visible position of the 32 from start + at on.
  int high_of(int i, int start, int at) const {
    const int end = row_of(i).position + 1;
    return end < start + at + 32 ? end : start + at + 32;
  }

  // Pairs of positions [lo, hi), at most 32, as query i sees them: rows of pages where a pair lies
  // there and both are seen, else copies in which what is not seen is 0.
  void gather_rows(int i, int start, int lo, int hi, const Seen& seen, const char* const* rows,
                   const char** own) const {
    int slots[kAttnBlock];
    for (int j = lo; j < hi; ++j) slots[j] = start + j;
    if (seen.has_nodes)
      each_path_node(i, start, [&](int position, int node) {
        slots[position - start] = item_.tree_start + node;
      });
    auto* copy = reinterpret_cast<std::uint16_t*>(gathered_);
    for (int pair = lo / 2; pair < ceil_div(hi, 2); ++pair) {
      const bool both = pair * 2 >= lo && pair * 2 + 1 < hi;
      if (both && start + pair * 2 + 1 < seen.shared_end) {
        own[pair] = rows[pair];
        continue;
      }
      for (int half = 0; half < 2; ++half) {
        const int j = pair * 2 + half;
        copy_value(j >= lo && j < hi ? slots[j] : -1, copy + half);
      }
      own[pair] = reinterpret_cast<const char*>(copy);
      copy += 2 * dim_;
    }
  }
  // A value to every other element; slot -1: zeros.
  void copy_value(int slot, std::uint16_t* to) const {
    if (slot < 0) {
      for (int d = 0; d < item_.value_dim; ++d) to[2 * d] = 0;
      return;
    }
    const char* row = value_page(slot) + slot % kAttnSlots / 2 * value_row_bytes();
    const auto* from = reinterpret_cast<const std::uint16_t*>(row) + slot % 2;
    for (int d = 0; d < item_.value_dim; ++d) to[2 * d] = from[2 * d];
  }

  // block_o of queries [first, first + count), count <= Order::kRows.
  void add_pairs(int first, int count, int first_pair, int end_pair, const char* const* rows,
                 const char* const* ahead) {
    Products<A> p{.a = weights(first),
                  .a_stride = kWeightStride,
                  .to = block_o(first),
                  .to_stride = dim_,
                  .first = first_pair,
                  .end = end_pair,
                  .fresh = false};
    constexpr int V = Order::kVecs;
    int d = 0;
    for (; d + V * 16 <= item_.value_dim; d += V * 16, p.to += V * 16)
      add_rows<Order, V>(count, p,
                         ValueLines<V>{.rows = rows,
                                       .ahead = ahead,
                                       .offset = d * 4,
                                       .ahead_offset = std::int64_t{d} * (kPagePairs * 4)});
    for (; d + 16 <= item_.value_dim; d += 16, p.to += 16)
      add_rows<Order, 1>(
          count, p,
          ValueLines<1>{.rows = rows, .ahead = nullptr, .offset = d * 4, .ahead_offset = 0});
    if (d < item_.value_dim)
      add_rows<Order, 1>(count, p,
                         LastValueLine{.rows = rows, .offset = d * 4, .dims = item_.value_dim - d});
  }

  // Pages that hold something for some row.
  int count_pages() const {
    int last = 0;
    for (int i = 0; i < item_.count; ++i)
      last = row_of(i).position > last ? row_of(i).position : last;
    const int end = item_.end_span * (kAttnSpan / kAttnSlots);
    return last / kAttnSlots + 1 < end ? last / kAttnSlots + 1 : end;
  }

  int rows_;            // count in whole tiles
  int q_stride_;        // elements from query to query
  int pages_;           // that may be asked for
  float* scores_;       // [rows_, kAttnBlock]
  float* tree_scores_;  // [rows_, kTreeSlots]
  float* block_o_;      // [rows_, dim_]
  float* q_;            // [rows_, q_stride_] of A
  float* gathered_;     // [kSumPairs, dim_]: pairs of values of one row
  ValuePages<std::uint16_t, 2> values_;
  float* end_;  // of the above
};

template <typename Order>
void bf16_attention_item(const AttnItem& item) {
  Bf16Attention<Order>(item).run();
}

}  // namespace
}  // namespace foretoken
