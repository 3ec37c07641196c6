#pragma once
// What the kernels of attention share whatever the KV is made of: softmax state and how it is
// merged, which positions the queries of an item see and in which order they see a tree, the walk
// over blocks and spans. How scores and weighted sums of values are computed is the kernels' own.
// For translation units of kernels only (v16.h).

#include "backend/cpu/op_kernels.h"
#include "backend/cpu/row_kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

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

// What sixteen states before and as many after them have in common, and the shares that both keep
// in it. The greater maximum keeps its weights: 2^0 is 1.
struct Joined {
  V16 m, l, before, after;

  FT_INLINE Joined(V16 m_before, V16 l_before, V16 m_after, V16 l_after)
      : m(max(m_before, m_after)) {
    const V16 other = exp2_not_above_zero(sub(min(m_before, m_after), m));
    const M16 grows = less(m_before, m_after);
    before = select(grows, other, set1(1.0F));
    after = select(grows, set1(1.0F), other);
    l = fma(l_before, before, mul(l_after, after));
  }
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
  const Joined both(set1(*to.m), set1(*to.l), set1(*m), set1(*l));
  store_n(to.m, both.m, 1);
  store_n(to.l, both.l, 1);
  for (int d = 0; d < dim; d += 16)
    store(to.o + d, fma(load(to.o + d), both.before, mul(load(o + d), both.after)));
}

FT_INLINE void finish(Running from, int dim, float* out) {
  const V16 l = set1(*from.l);
  for (int d = 0; d < dim; d += 16)
    store_some(out + d, div(load(from.o + d), l), lanes_from(d, dim));
}

// The queries of an item. Scratch for softmax states is the kernel's.
class ItemQueries {
 protected:
  explicit ItemQueries(const AttnItem& item) : item_(item), dim_(round_up(item.head_dim, 16)) {
    const AttnRow* row = item.rows + item.first / item.group;
    for (int i = 0, head = item.first % item.group; i < item.count; ++i) {
      row_[i] = row;
      if (++head == item.group) head = 0, ++row;
    }
  }

  // Calls add_block(start, state) for all blocks of the item, and leaves what they add to the
  // states of its spans in the result or where the item wants them. span, total: [count, dim_ + 2].
  template <typename AddBlock>
  FT_INLINE void walk_spans(float* span_state, float* total, AddBlock add_block) const {
    clear(total);
    for (int span = item_.first_span; span < item_.end_span; ++span) {
      float* state = span_state;
      if (item_.partial != nullptr)
        state = item_.partial +
                static_cast<std::int64_t>(span - item_.first_span) * item_.count * (dim_ + 2);
      clear(state);
      for (int block = 0; block < kAttnSpan / kAttnBlock; ++block)
        add_block(span * kAttnSpan + block * kAttnBlock, state);
      if (item_.partial != nullptr) continue;
      for (int i = 0; i < item_.count; ++i) {
        const Running more = running(state, i);
        merge(running(total, i), more.m, more.l, more.o, dim_);
      }
    }
    if (item_.partial != nullptr) return;
    for (int i = 0; i < item_.count; ++i)
      finish(running(total, i), item_.head_dim, item_.out + offset_of(i));
  }

  const AttnRow& row_of(int i) const { return *row_[i]; }
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

  int left(int i, int most) const { return item_.count - i < most ? item_.count - i : most; }

  // The positions of a block that some query sees, and those before the tree among them.
  struct Seen {
    int begin, end;
    int all_begin, all_end;  // that all queries see; none where the end is not above
    int shared_end;          // positions from here on are nodes
    bool has_nodes;
  };
  Seen seen_of(int start) const { return seen_of(start, 0, item_.count); }
  Seen seen_of(int start, int first, int end) const {  // of some queries
    Seen seen{.begin = start + kAttnBlock,
              .end = start,
              .all_begin = start,
              .all_end = start + kAttnBlock,
              .shared_end = 0,
              .has_nodes = false};
    for (int i = first; i < end; ++i) {
      if (i > first && row_[i] == row_[i - 1]) continue;
      const int l = low(i, start), h = high(i, start);
      seen.all_begin = l > seen.all_begin ? l : seen.all_begin;
      seen.all_end = h < seen.all_end ? h : seen.all_end;
      if (l >= h) continue;
      seen.end = h > seen.end ? h : seen.end;
      seen.begin = l < seen.begin ? l : seen.begin;
    }
    seen.has_nodes = seen.end > item_.tree_start && has_tree();
    seen.shared_end = seen.has_nodes ? item_.tree_start : seen.end;
    return seen;
  }

  // Calls body(position, node) for the row's path within the block.
  template <typename Body>
  FT_INLINE void each_path_node(int i, int start, Body body) const {
    int position = item_.tree_start;
    for (std::uint64_t nodes = row_of(i).nodes; nodes != 0; nodes &= nodes - 1, ++position)
      if (position >= start && position < start + kAttnBlock)
        body(position, __builtin_ctzll(nodes));
  }
  // tree_scores [count, kTreeSlots], by slot from the page of the first node on -> scores of a
  // query, by position.
  void order_tree_scores(int i, int start, const float* tree_scores, float* to) const {
    const float* from =
        tree_scores + static_cast<std::int64_t>(i) * kTreeSlots + item_.tree_start % kAttnSlots;
    each_path_node(i, start, [=](int position, int node) { to[position - start] = from[node]; });
  }
  // How many pages the nodes of the item's rows take, from the first node's on.
  int tree_pages() const {
    std::uint64_t nodes = 0;
    for (int i = 0; i < item_.count; ++i) nodes |= row_of(i).nodes;
    if (nodes == 0) return 0;
    const int last = item_.tree_start + 63 - __builtin_clzll(nodes);
    return last / kAttnSlots - item_.tree_start / kAttnSlots + 1;
  }

  // s: the sums of a block's products, by position. score(sums) are the scores, put(at, e) takes
  // 2^(score - m) of positions at .. at + 15, 0 where the query does not look; of groups of sixteen
  // that hold positions that it sees. m the block's maximum, l the sum.
  template <typename Score, typename Put>
  FT_INLINE void soften(int i, int start, float* s, Score score, Put put, float* m,
                        float* l) const {
    const int lo = low(i, start) - start, hi = high(i, start) - start;
    *m = *l = 0.0F;
    if (lo >= hi) return;
    const V16 nothing = set1(-__builtin_inff());
    const int first = lo / 16, end = ceil_div(hi, 16);
    V16 top = nothing;
    for (int g = first; g < end; ++g) {
      V16 a = score(load(s + g * 16));
      if (g * 16 < lo || g * 16 + 16 > hi) {
        const int from = lo > g * 16 ? lo - g * 16 : 0;
        const int to = hi < g * 16 + 16 ? hi - g * 16 : 16;
        const unsigned bits = ((1U << to) - 1U) & ~((1U << from) - 1U);
        a = select(lanes(static_cast<std::uint16_t>(bits)), a, nothing);
      }
      store(s + g * 16, a);
      top = max(top, a);
    }
    *m = reduce_max(top);
    const V16 maximum = set1(*m);
    V16 sum = zero();
    for (int g = first; g < end; ++g) {
      const V16 e = exp2_not_above_zero(sub(load(s + g * 16), maximum));
      put(g * 16, e);
      sum = add(sum, e);
    }
    *l = reduce_sum(sum);
  }

  const AttnItem& item_;
  int dim_;  // head_dim rounded up to 16

 private:
  const AttnRow* row_[kAttnMaxQueries];  // by query
};

inline void merge_span_partials(float* partial, std::int64_t stride, int spans, int head_dim,
                                float* out) {
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
