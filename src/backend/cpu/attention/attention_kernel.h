#pragma once
// Attention over KV of fp16, float32 and codes of some queries that share a KV head. For each block
// of positions: scores, one chain of FMAs over the head's dimensions per key, sixteen keys side by
// side; softmax against the block's own maximum; the weighted sum of values, one chain of FMAs over
// the block's positions per dimension. Neither chain depends on which queries or keys are computed
// beside it, so blocks of registers may have any shape. Positions that a row does not see are not
// computed with at all. In a tree, keys of nodes are scored where they lie and the scores then put
// in logical order. Where keys and values are codes, a score is (chain * the key's scale) * the
// item's, and what a position's value is multiplied by is its weight times the value's scale,
// rounded once. For translation units of kernels only (v16.h).

#include "backend/cpu/attention/attention_common.h"
#include "backend/cpu/attention/value_pages.h"

namespace foretoken {
namespace {

// Register blocks: queries x groups of keys for scores, queries x vectors of dimensions for values.
#if defined(FT_V16_AVX512)
constexpr int kScoreQueries = 8, kScorePages = 2, kValueVecs = 4;
#else
constexpr int kScoreQueries = 4, kScorePages = 1, kValueVecs = 1;
#endif
constexpr int kValueQueries = 4;

template <typename Kv>
class Attention : ItemQueries {
 public:
  using Element = typename Kv::Element;

  explicit Attention(const AttnItem& item)
      : ItemQueries(item),
        scale_stride_(item.page_stride / item.head_dim),
        scores_(scratch()),
        tree_scores_(scores_ + item.count * kAttnBlock),
        block_o_(tree_scores_ + item.count * kTreeSlots),
        values_(item, block_o_ + item.count * dim_, tree_pages()) {}

  void run() {
    values_.take_tree(tree_pages());
    score_tree();
    walk_blocks([this](int start, States states) { add_block(start, states); });
  }

 private:
  const Element* page(const void* kv, int index) const {
    return static_cast<const Element*>(kv) + item_.pages[index] * item_.page_stride;
  }
  const Element* value_at(int slot_index) const {
    return values_.page_of(slot_index) + slot_index % kAttnSlots * item_.value_dim;
  }

  // Of the rows of a page, where they are codes.
  const float* scales(const float* kv, int index) const {
    return kv + item_.pages[index] * scale_stride_;
  }
  float scale_at(int slot_index) const {
    return scales(values_.scales(), slot_index / kAttnSlots)[slot_index % kAttnSlots];
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
    const int pages = tree_pages();
    for (int i = 0; pages > 0 && i < item_.count; i += kScoreQueries)
      score(i, left(i, kScoreQueries), item_.tree_start / kAttnSlots, pages, tree_scores_,
            kTreeSlots);
  }

  // Positions [start, start + kAttnBlock) join the state of every query that sees some of them.
  void add_block(int start, States states) {
    const Seen seen = seen_of(start);
    const int begin = seen.begin, end = seen.end, shared_end = seen.shared_end;
    if (begin >= end) return;
    const int first_page = begin / kAttnSlots;
    if (shared_end > begin) {
      const int pages = (shared_end - 1) / kAttnSlots - first_page + 1;
      for (int i = 0; i < item_.count; i += kScoreQueries)
        score(i, left(i, kScoreQueries), first_page, pages,
              scores_ + (first_page * kAttnSlots - start), kAttnBlock);
    }
    values_.take_block(begin, shared_end);
    const Element* values[kAttnBlock];
    for (int j = begin; j < shared_end; ++j) values[j - start] = value_at(j);
    float value_scales[kAttnBlock];  // of codes
    if constexpr (Kv::kIsCode)
      for (int p = first_page; p * kAttnSlots < shared_end; ++p)
        store(value_scales + (p * kAttnSlots - start), load(scales(values_.scales(), p)));
    float m[kAttnMaxQueries], l[kAttnMaxQueries];
    for (int i = 0; i < item_.count; ++i) {
      if (seen.has_nodes) order_tree_scores(i, start, tree_scores_, scores(i));
      float* s = scores(i);
      const auto put = [s](int at, V16 e) { store(s + at, e); };
      if (item_.cap > 0)
        soften_capped<5>(i, start, s, 1.0F, put, &m[i], &l[i]);
      else
        soften<5>(i, start, s, [](V16 a) { return a; }, put, &m[i], &l[i]);
      if constexpr (Kv::kIsCode) {
        if (seen.has_nodes) order_tree_scales(i, start, value_scales);
        weigh(i, start, value_scales);
      }
    }
    for (int i = 0; i < item_.count;) {
      int count = left(i, kValueQueries);
      if (seen.has_nodes) {
        const int same_row = item_.group - head_of(i);
        count = same_row < count ? same_row : count;
        order_tree_values(i, start, values);
      }
      add_values(i, count, start, values);
      i += count;
    }
    join_states(states, {block_o_, m, l}, item_.count, dim_);
  }

  float* block_o(int i) const { return block_o_ + static_cast<std::int64_t>(i) * dim_; }
  float* scores(int i) const { return scores_ + static_cast<std::int64_t>(i) * kAttnBlock; }

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

  // Continues the chains of Q queries and V vectors of dimensions over positions [from, to).
  template <int Q, int V>
  FT_INLINE void add_range(int first, int d, int from, int to, const Element* const* values) {
    const float* p[Q];
    float* o[Q];
    for (int i = 0; i < Q; ++i) p[i] = scores(first + i), o[i] = block_o(first + i) + d;
    const int tail = item_.value_dim - d - (V - 1) * 16;  // lanes of the last vector that exist
    V16 acc[Q][V], x[V];
    each<Q, V>([&](int i, int v) { acc[i][v] = load(o[i] + v * 16); });
    for (int j = from; j < to; ++j) {
      const Element* value = values[j] + d;
      each<1, V>([&](int, int v) {
        x[v] =
            v + 1 < V || tail >= 16 ? Kv::read(value + v * 16) : read_n<Kv>(value + v * 16, tail);
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

  std::int64_t scale_stride_;  // from page to page, where keys and values are codes
  float* scores_;              // [count, kAttnBlock]
  float* tree_scores_;         // [count, kTreeSlots]
  float* block_o_;             // [count, dim_]
  ValuePages<Element, 1> values_;
};

template <typename Kv>
void attention_item(const AttnItem& item) {
  Attention<Kv>(item).run();
}

}  // namespace
}  // namespace foretoken
