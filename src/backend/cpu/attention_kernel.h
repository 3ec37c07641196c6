#pragma once
// Attention of some queries that share a KV head. For each block of positions: scores, one chain of
// FMAs over the head's dimensions per key, sixteen keys side by side; softmax against the block's
// own maximum; the weighted sum of values, one chain of FMAs over the block's positions per
// dimension. Neither chain depends on which queries or keys are computed beside it, so blocks of
// registers may have any shape. Positions that a row does not see are not computed with at all.
// In a tree, keys of nodes are scored where they lie and the scores then put in logical order.
// Where keys and values are codes, a score is (chain * the key's scale) * the item's, and what a
// position's value is multiplied by is its weight times the value's scale, rounded once.
// For translation units of kernels only (v16.h).

#include "backend/cpu/row_kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Register blocks: queries x groups of keys for scores, queries x vectors of dimensions for values.
#if defined(FT_V16_AVX512)
constexpr int kScoreQueries = 8, kScorePages = 2, kValueVecs = 4;
#else
constexpr int kScoreQueries = 4, kScorePages = 1, kValueVecs = 1;
#endif
constexpr int kValueQueries = 4;
constexpr int kBlockPages = kAttnBlock / kAttnSlots;
constexpr int kTreeSlots = 5 * kAttnSlots;  // 64 nodes that start anywhere in a page

// Calls body(i, j) for all i < I, j < J, unrolled, so that arrays indexed by them become registers.
template <int I, int J, typename Body>
FT_INLINE void each(Body body) {
  FT_UNROLL
  for (int i = 0; i < I; ++i) {
    FT_UNROLL
    for (int j = 0; j < J; ++j) body(i, j);
  }
}

// Softmax state of one query: values are o / l against the maximum m.
struct Running {
  float* m;
  float* l;
  float* o;  // [dim rounded up to 16]
};

// (m, l, o) of more positions joins those of the positions before them. l of 0: none were seen.
FT_INLINE void merge(Running to, const float* m, const float* l, const float* o, int dim) {
  if (*l == 0.0F) return;
  if (*to.l == 0.0F) {
    *to.m = *m;
    *to.l = *l;
    for (int d = 0; d < dim; d += 16) store(to.o + d, load(o + d));
    return;
  }
  const V16 before = set1(*to.m), after = set1(*m), top = max(before, after);
  const V16 a = exp(sub(before, top)), b = exp(sub(after, top));
  store_n(to.m, top, 1);
  store_n(to.l, fma(set1(*to.l), a, mul(set1(*l), b)), 1);
  for (int d = 0; d < dim; d += 16) store(to.o + d, fma(load(to.o + d), a, mul(load(o + d), b)));
}

FT_INLINE void finish(Running from, int dim, float* out) {
  const V16 l = set1(*from.l);
  for (int d = 0; d < dim; d += 16)
    store_some(out + d, div(load(from.o + d), l), lanes_from(d, dim));
}

template <typename Kv>
class Attention {
 public:
  using Element = typename Kv::Element;

  explicit Attention(const AttnItem& item)
      : item_(item),
        dim_(round_up(item.head_dim, 16)),
        scores_(item.scratch),
        tree_scores_(scores_ + item.count * kAttnBlock),
        block_o_(tree_scores_ + item.count * kTreeSlots),
        span_(block_o_ + item.count * dim_),
        total_(span_ + item.count * (dim_ + 2)) {}

  void run() {
    if (has_tree()) score_tree();
    clear(total_);
    for (int span = item_.first_span; span < item_.end_span; ++span) {
      float* state = span_;
      if (item_.partial != nullptr)
        state = item_.partial +
                static_cast<std::int64_t>(span - item_.first_span) * item_.count * (dim_ + 2);
      clear(state);
      for (int block = 0; block < kAttnSpan / kAttnBlock; ++block)
        add_block(span * kAttnSpan + block * kAttnBlock, state);
      if (item_.partial != nullptr) continue;
      for (int i = 0; i < item_.count; ++i) {
        const Running more = running(state, i);
        merge(running(total_, i), more.m, more.l, more.o, dim_);
      }
    }
    if (item_.partial != nullptr) return;
    for (int i = 0; i < item_.count; ++i)
      finish(running(total_, i), item_.head_dim, item_.out + offset_of(i));
  }

 private:
  const AttnRow& row_of(int i) const { return item_.rows[(item_.first + i) / item_.group]; }
  int head_of(int i) const { return (item_.first + i) % item_.group; }
  std::int64_t offset_of(int i) const {
    return (item_.first + i) / item_.group * item_.row_stride + head_of(i) * item_.head_dim;
  }
  const float* query(int i) const { return item_.q + offset_of(i); }
  Running running(float* states, int i) const {
    float* o = states + static_cast<std::int64_t>(i) * (dim_ + 2);
    return {o + dim_, o + dim_ + 1, o};
  }
  void clear(float* states) const {
    for (int i = 0; i < item_.count; ++i) *running(states, i).l = 0.0F;
  }
  bool has_tree() const {
    for (int i = 0; i < item_.count; ++i)
      if (row_of(i).nodes != 0) return true;
    return false;
  }

  const Element* page(const void* kv, int index) const {
    return static_cast<const Element*>(kv) + item_.pages[index] * item_.page_stride;
  }
  const Element* value_at(int slot_index) const {
    return page(item_.v, slot_index / kAttnSlots) + slot_index % kAttnSlots * item_.head_dim;
  }

  // Of the rows of a page, where they are codes.
  const float* scales(const float* kv, int index) const {
    return kv + item_.pages[index] * (item_.page_stride / item_.head_dim);
  }
  float scale_at(int slot_index) const {
    return scales(item_.v_scale, slot_index / kAttnSlots)[slot_index % kAttnSlots];
  }

  // First visible position of a query, and one past its last, within [start, start + kAttnBlock).
  int low(int i, int start) const {
    const int p = row_of(i).position;
    const int windowed = item_.window > 0 && p >= item_.window ? p - item_.window + 1 : 0;
    const int first = windowed > row_of(i).first ? windowed : row_of(i).first;
    return first > start ? first : start;
  }
  int high(int i, int start) const {
    const int end = row_of(i).position + 1;
    return end < start + kAttnBlock ? end : start + kAttnBlock;
  }

  template <int Q, int P>
  FT_INLINE void score_pages(const float* const* q, int first_page, float* const* out) const {
    const Element* keys[P];
    for (int p = 0; p < P; ++p) keys[p] = page(item_.k, first_page + p);
    V16 acc[Q][P], k[P];
    each<Q, P>([&](int i, int p) { acc[i][p] = zero(); });
    for (int d = 0; d < item_.head_dim; ++d) {
      each<1, P>([&](int, int p) { k[p] = Kv::read(keys[p] + d * kAttnSlots); });
      each<Q, P>([&](int i, int p) { acc[i][p] = fma(set1(q[i][d]), k[p], acc[i][p]); });
    }
    if constexpr (Kv::kIsCode) {
      each<1, P>([&](int, int p) { k[p] = load(scales(item_.k_scale, first_page + p)); });
      each<Q, P>([&](int i, int p) { acc[i][p] = mul(acc[i][p], k[p]); });
    }
    const V16 scale = set1(item_.scale);
    each<Q, P>([&](int i, int p) { store(out[i] + p * kAttnSlots, mul(acc[i][p], scale)); });
  }

  template <int Q>
  FT_INLINE void score_queries(const float* const* q, int first_page, int pages,
                               float* const* out) const {
    float* to[Q];
    int p = 0;
    for (; p + kScorePages <= pages; p += kScorePages) {
      for (int i = 0; i < Q; ++i) to[i] = out[i] + p * kAttnSlots;
      score_pages<Q, kScorePages>(q, first_page + p, to);
    }
    for (; p < pages; ++p) {
      for (int i = 0; i < Q; ++i) to[i] = out[i] + p * kAttnSlots;
      score_pages<Q, 1>(q, first_page + p, to);
    }
  }

  // Scores of queries [first, first + count), count <= kScoreQueries, against whole pages, to rows
  // `stride` apart. Register blocks hold 1, 2, 4 or 8 queries; the last query fills what is left.
  void score(int first, int count, int first_page, int pages, float* to, int stride) const {
    const float* q[kScoreQueries];
    float* out[kScoreQueries];
    for (int i = 0; i < kScoreQueries; ++i) {
      const int at = first + (i < count ? i : count - 1);
      q[i] = query(at);
      out[i] = to + static_cast<std::int64_t>(at) * stride;
    }
    if (count > 4)
      score_queries<kScoreQueries>(q, first_page, pages, out);
    else if (count > 2)
      score_queries<4>(q, first_page, pages, out);
    else if (count == 2)
      score_queries<2>(q, first_page, pages, out);
    else
      score_queries<1>(q, first_page, pages, out);
  }

  // All nodes of the tree, as they lie.
  void score_tree() const {
    std::uint64_t nodes = 0;
    for (int i = 0; i < item_.count; ++i) nodes |= row_of(i).nodes;
    if (nodes == 0) return;
    const int last = item_.tree_start + 63 - __builtin_clzll(nodes);
    const int first_page = item_.tree_start / kAttnSlots;
    for (int i = 0; i < item_.count; i += kScoreQueries)
      score(i, left(i, kScoreQueries), first_page, last / kAttnSlots - first_page + 1, tree_scores_,
            kTreeSlots);
  }

  int left(int i, int most) const { return item_.count - i < most ? item_.count - i : most; }

  // Positions [start, start + kAttnBlock) join the state of every query that sees some of them.
  void add_block(int start, float* state) {
    int end = start, begin = start + kAttnBlock;
    for (int i = 0; i < item_.count; ++i) {
      const int l = low(i, start), h = high(i, start);
      if (l >= h) continue;
      end = h > end ? h : end;
      begin = l < begin ? l : begin;
    }
    if (begin >= end) return;
    const bool tree_block = has_tree() && end > item_.tree_start;
    const int shared_end = tree_block ? item_.tree_start : end;
    const int first_page = begin / kAttnSlots;
    if (shared_end > begin) {
      const int pages = (shared_end - 1) / kAttnSlots - first_page + 1;
      for (int i = 0; i < item_.count; i += kScoreQueries)
        score(i, left(i, kScoreQueries), first_page, pages,
              scores_ + (first_page * kAttnSlots - start), kAttnBlock);
    }
    const Element* values[kAttnBlock];
    float value_scales[kAttnBlock];  // of codes
    for (int j = begin; j < shared_end; ++j) {
      values[j - start] = value_at(j);
      if constexpr (Kv::kIsCode) value_scales[j - start] = scale_at(j);
    }
    float m[kAttnMaxQueries], l[kAttnMaxQueries];
    for (int i = 0; i < item_.count; ++i) {
      if (tree_block) order_tree_scores(i, start);
      soften(i, start, &m[i], &l[i]);
      if constexpr (Kv::kIsCode) {
        if (tree_block) order_tree_scales(i, start, value_scales);
        weigh(i, start, value_scales);
      }
    }
    for (int i = 0; i < item_.count;) {
      int count = left(i, kValueQueries);
      if (tree_block) {
        const int same_row = item_.group - head_of(i);
        count = same_row < count ? same_row : count;
        order_tree_values(i, start, values);
      }
      add_values(i, count, start, values);
      i += count;
    }
    for (int i = 0; i < item_.count; ++i) merge(running(state, i), &m[i], &l[i], block_o(i), dim_);
  }

  float* block_o(int i) const { return block_o_ + static_cast<std::int64_t>(i) * dim_; }
  float* scores(int i) const { return scores_ + static_cast<std::int64_t>(i) * kAttnBlock; }

  // Calls body(position, node) for the row's path within the block.
  template <typename Body>
  FT_INLINE void each_path_node(int i, int start, Body body) const {
    int position = item_.tree_start;
    for (std::uint64_t nodes = row_of(i).nodes; nodes != 0; nodes &= nodes - 1, ++position)
      if (position >= start && position < start + kAttnBlock)
        body(position, __builtin_ctzll(nodes));
  }
  void order_tree_scores(int i, int start) const {
    const float* from =
        tree_scores_ + static_cast<std::int64_t>(i) * kTreeSlots + item_.tree_start % kAttnSlots;
    float* to = scores(i);
    each_path_node(i, start, [=](int position, int node) { to[position - start] = from[node]; });
  }
  void order_tree_values(int i, int start, const Element** values) const {
    each_path_node(i, start, [=, this](int position, int node) {
      values[position - start] = value_at(item_.tree_start + node);
    });
  }

  void order_tree_scales(int i, int start, float* value_scales) const {
    each_path_node(i, start, [=, this](int position, int node) {
      value_scales[position - start] = scale_at(item_.tree_start + node);
    });
  }

  // scores *= value_scales, where the query looks.
  void weigh(int i, int start, const float* value_scales) const {
    const int hi = high(i, start) - start;
    float* s = scores(i);
    for (int j = low(i, start) - start; j < hi; j += 16) {
      const int n = lanes_from(j, hi);
      store_some(s + j, mul(load_some(s + j, n), load_some(value_scales + j, n)), n);
    }
  }

  // scores -> e^(score - m), 0 where the query does not look; m the block's maximum, l the sum.
  void soften(int i, int start, float* m, float* l) const {
    const int lo = low(i, start) - start, hi = high(i, start) - start;
    *l = 0.0F;
    if (lo >= hi) return;
    float* s = scores(i);
    const V16 nothing = set1(-__builtin_inff());
    const int first = lo / 16, end = ceil_div(hi, 16);
    V16 top = nothing;
    for (int g = first; g < end; ++g) {
      V16 a = load(s + g * 16);
      if (g * 16 < lo || g * 16 + 16 > hi) {
        const int from = lo > g * 16 ? lo - g * 16 : 0;
        const int to = hi < g * 16 + 16 ? hi - g * 16 : 16;
        const unsigned bits = ((1U << to) - 1U) & ~((1U << from) - 1U);
        a = select(lanes(static_cast<std::uint16_t>(bits)), a, nothing);
        store(s + g * 16, a);
      }
      top = max(top, a);
    }
    *m = reduce_max(top);
    const V16 maximum = set1(*m);
    V16 sum = zero();
    for (int g = first; g < end; ++g) {
      const V16 e = exp(sub(load(s + g * 16), maximum));
      store(s + g * 16, e);
      sum = add(sum, e);
    }
    *l = reduce_sum(sum);
  }

  // Continues the chains of Q queries and V vectors of dimensions over positions [from, to).
  template <int Q, int V>
  FT_INLINE void add_range(int first, int d, int from, int to, const Element* const* values) {
    const float* p[Q];
    float* o[Q];
    for (int i = 0; i < Q; ++i) p[i] = scores(first + i), o[i] = block_o(first + i) + d;
    const int tail = item_.head_dim - d - (V - 1) * 16;  // lanes of the last vector that exist
    V16 acc[Q][V], x[V];
    each<Q, V>([&](int i, int v) { acc[i][v] = load(o[i] + v * 16); });
    for (int j = from; j < to; ++j) {
      const Element* value = values[j] + d;
      each<1, V>([&](int, int v) {
        x[v] =
            v + 1 < V || tail >= 16 ? Kv::read(value + v * 16) : Kv::read_n(value + v * 16, tail);
      });
      each<Q, V>([&](int i, int v) { acc[i][v] = fma(set1(p[i][j]), x[v], acc[i][v]); });
    }
    each<Q, V>([&](int i, int v) { store(o[i] + v * 16, acc[i][v]); });
  }
  template <int Q>
  void add_dims(int first, int from, int to, const Element* const* values) {
    if (from >= to) return;
    int d = 0;
    for (; d + kValueVecs * 16 <= dim_; d += kValueVecs * 16)
      add_range<Q, kValueVecs>(first, d, from, to, values);
    for (; d < dim_; d += 16) add_range<Q, 1>(first, d, from, to, values);
  }

  // block_o of queries [first, first + count): together over the positions that all of them see,
  // one by one before and after.
  void add_values(int first, int count, int start, const Element* const* values) {
    int all_from = 0, all_to = kAttnBlock;
    for (int i = first; i < first + count; ++i) {
      for (int d = 0; d < dim_; d += 16) store(block_o(i) + d, zero());
      const int l = low(i, start) - start, h = high(i, start) - start;
      all_from = l > all_from ? l : all_from;
      all_to = h < all_to ? h : all_to;
    }
    const bool together = count > 1 && all_from < all_to;
    for (int i = first; i < first + count; ++i) {
      const int h = high(i, start) - start;
      add_dims<1>(i, low(i, start) - start, together ? all_from : h, values);
    }
    if (!together) return;
    if (count == 4)
      add_dims<4>(first, all_from, all_to, values);
    else if (count == 3)
      add_dims<3>(first, all_from, all_to, values);
    else
      add_dims<2>(first, all_from, all_to, values);
    for (int i = first; i < first + count; ++i)
      add_dims<1>(i, all_to, high(i, start) - start, values);
  }

  const AttnItem& item_;
  int dim_;             // head_dim rounded up to 16
  float* scores_;       // [count, kAttnBlock]
  float* tree_scores_;  // [count, kTreeSlots]
  float* block_o_;      // [count, dim_]
  float* span_;         // [count, dim_ + 2]: o, m, l of the span at hand
  float* total_;        // the same of all spans so far
};

template <typename Kv>
void attention_item(const AttnItem& item) {
  Attention<Kv>(item).run();
}

void merge_span_partials(float* partial, std::int64_t stride, int spans, int head_dim, float* out) {
  const int dim = round_up(head_dim, 16);
  const Running to{partial + dim, partial + dim + 1, partial};
  for (int s = 1; s < spans; ++s) {
    const float* o = partial + s * stride;
    merge(to, o + dim, o + dim + 1, o, dim);
  }
  finish(to, head_dim, out);
}

}  // namespace
}  // namespace foretoken
