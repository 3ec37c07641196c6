#pragma once
// What the kernels of attention share whatever the KV is made of: softmax state and how it is
// merged, which positions the queries of an item see and in which order they see a tree, the walk
// over blocks and spans. How scores and weighted sums of values are computed is the kernels' own.
// For translation units of kernels only (v16.h).

#include "backend/cpu/rows/row_kernels.h"
#include "backend/cpu/table/op_kernels.h"
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

// Softmax states of queries side by side: values are o / l against the maximum m. Of nothing seen m
// is -inf and l and o are 0.
struct States {
  float* o;  // [queries][value_dim rounded up to 16]
  float* m;  // [queries]
  float* l;
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

// States of more positions, o + 0, join those of the positions before them: sixteen queries at a
// time, whose exponentials cost as much as one. In o + 0 no zero is negative. What more states that
// saw nothing have for m and o is not used.
inline void join_states(States to, States more, int count, int dim) {
  for (int i = 0; i < count; i += 16) {
    const int n = count - i < 16 ? count - i : 16;
    const V16 m = load_n(to.m + i, n), l = load_n(to.l + i, n), l_after = load_n(more.l + i, n);
    const Joined both(m, l, load_n(more.m + i, n), l_after);
    const M16 unseen = less_equal(l_after, zero());
    store_n(to.m + i, select(unseen, m, both.m), n);
    store_n(to.l + i, select(unseen, l, both.l), n);
    float before[16], after[16];
    store(before, both.before), store(after, both.after);
    float* o = to.o + static_cast<std::int64_t>(i) * dim;
    const float* o_after = more.o + static_cast<std::int64_t>(i) * dim;
    for (int j = 0; j < n; ++j, o += dim, o_after += dim) {
      if (more.l[i + j] == 0.0F) continue;
      const V16 a = set1(before[j]), b = set1(after[j]);
      for (int d = 0; d < dim; d += 16)
        store(o + d, fma(load(o + d), a, mul(add(load(o_after + d), zero()), b)));
    }
  }
}

// The queries of an item and their states, of the span at hand and of all spans so far.
class ItemQueries {
 protected:
  explicit ItemQueries(const AttnItem& item)
      : item_(item),
        dim_(round_up(item.value_dim, 16)),
        span_(states_at(item.scratch)),
        total_(states_at(item.scratch + state_floats())) {
    const AttnRow* row = item.rows + item.first / item.group;
    for (int i = 0, head = item.first % item.group; i < item.count; ++i) {
      row_[i] = row;
      if (++head == item.group) head = 0, ++row;
    }
  }

  // Calls add_span(start, states) for all spans of the item and writes out what comes of them, or
  // leaves them where the item wants them. add_span clears states, fills and ends them.
  template <typename AddSpan>
  FT_INLINE void walk_spans(AddSpan add_span) const {
    if (!is_divided()) clear(total_, item_.count);
    for (int span = item_.first_span; span < item_.end_span; ++span)
      add_span(span * kAttnSpan, is_divided() ? partial(span - item_.first_span) : span_);
    if (!is_divided()) finish(total_);
  }
  // Calls add_block(start, states) for all blocks of the item.
  template <typename AddBlock>
  FT_INLINE void walk_blocks(AddBlock add_block) const {
    walk_spans([=, this](int start, States states) {
      clear(states, item_.count);
      for (int at = start; at < start + kAttnSpan; at += kAttnBlock) add_block(at, states);
      end_span(states, 0, item_.count);
    });
  }
  // The states of `count` queries from `first` on have seen a span.
  void end_span(States states, int first, int count) const {
    if (!is_divided()) join_states(from(total_, first), states, count, dim_);
  }
  bool is_divided() const { return item_.partial != nullptr; }

  std::int64_t state_floats() const { return std::int64_t{item_.count} * (dim_ + 2); }
  States states_at(float* o) const {
    float* const m = o + std::int64_t{item_.count} * dim_;
    return {o, m, m + item_.count};
  }
  States partial(int span) const { return states_at(item_.partial + span * state_floats()); }
  States from(States states, int first) const {
    return {states.o + std::int64_t{first} * dim_, states.m + first, states.l + first};
  }
  // What the states leave of the item's scratch, in whole cache lines.
  float* scratch() const { return item_.scratch + round_up(2 * state_floats(), std::int64_t{16}); }
  void clear(States states, int count) const {
    for (std::int64_t i = 0; i < std::int64_t{count} * dim_; i += 16) store(states.o + i, zero());
    for (int i = 0; i < count; ++i) states.m[i] = -__builtin_inff(), states.l[i] = 0.0F;
  }
  void finish(States states) const {
    if (item_.sinks != nullptr) add_sinks(states);
    for (int i = 0; i < item_.count; ++i) {
      float* const out = item_.out + out_offset_of(i);
      const float* const o = states.o + std::int64_t{i} * dim_;
      const V16 l = set1(states.l[i]);
      for (int d = 0; d < item_.value_dim; d += 16)
        store_some(out + d, div(load(o + d), l), lanes_from(d, item_.value_dim));
    }
  }

  // A position with the value 0 joins the state of every query.
  __attribute__((noinline)) void add_sinks(States states) const {
    for (int i = 0; i < item_.count; ++i) {
      const V16 sink = mul(set1(item_.sinks[head_of(i)]), set1(kLog2E));
      const Joined both(set1(states.m[i]), set1(states.l[i]), sink, set1(1.0F));
      store_n(states.l + i, both.l, 1);
      float* const o = states.o + std::int64_t{i} * dim_;
      for (int d = 0; d < dim_; d += 16) store(o + d, mul(load(o + d), both.before));
    }
  }

  const AttnRow& row_of(int i) const { return *row_[i]; }
  int head_of(int i) const { return (item_.first + i) % item_.group; }
  std::int64_t out_offset_of(int i) const {
    return (item_.first + i) / item_.group * item_.out_stride + head_of(i) * item_.value_dim;
  }
  const float* query(int i) const {
    return item_.q + (item_.first + i) / item_.group * item_.row_stride +
           head_of(i) * item_.head_dim;
  }
  bool has_tree() const {
    for (int i = 0; i < item_.count; ++i)
      if (row_of(i).nodes != 0) return true;
    return false;
  }

  // First visible position of a query, and one past its last, within [start, start + kAttnBlock).
  int low(int i, int start) const {
    const int first = row_of(i).first;
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
    for (int i = first, next = first + item_.group - head_of(first); i < end;
         i = next, next += item_.group) {
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
  // that hold positions that it sees. m the block's maximum, l the sum. Degree: of 2^x.
  template <int Degree, typename Score, typename Put>
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
      const V16 e = exp2_not_above_zero<Degree>(sub(load(s + g * 16), maximum));
      put(g * 16, e);
      sum = add(sum, e);
    }
    *l = reduce_sum(sum);
  }

  // The same of an item whose scores are capped; `scale` makes scores of the sums.
  template <int Degree, typename Put>
  __attribute__((noinline)) void soften_capped(int i, int start, float* s, float scale, Put put,
                                               float* m, float* l) const {
    const V16 all = set1(scale), cap = set1(item_.cap), inverse = set1(1.0F / item_.cap);
    soften<Degree>(
        i, start, s, [=](V16 a) { return capped(mul(a, all), cap, inverse); }, put, m, l);
  }

  const AttnItem& item_;
  int dim_;  // value_dim rounded up to 16
  States span_, total_;

 private:
  const AttnRow* row_[kAttnMaxQueries];  // by query
};

// The states of all spans of a divided item, in order.
class SpanMerge : ItemQueries {
 public:
  explicit SpanMerge(const AttnItem& item) : ItemQueries(item) {}

  void run(int spans) const {
    for (int span = 1; span < spans; ++span)
      join_states(partial(0), partial(span), item_.count, dim_);
    finish(partial(0));
  }
};
inline void merge_item_spans(const AttnItem& item, int spans) { SpanMerge(item).run(spans); }

}  // namespace
}  // namespace foretoken
