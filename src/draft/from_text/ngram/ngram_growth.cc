#include "draft/from_text/ngram/ngram_growth.h"

#include <algorithm>

namespace foretoken {
namespace {

// Children of a node that are compared by how often they occurred: so many newest ones, because
// short runs may have thousands.
constexpr int kMostRanked = 32;

}  // namespace

void NgramGrowth::grow(const NgramTrie& trie, const NgramTrie::Cursor& cursor, int most, int depth,
                       DraftList& drafts) {
  most_ = at(most);
  depth_ = depth;
  drafts_ = &drafts;
  const int longest = std::min(shape_.max_window, trie.max_depth() - 1);
  const auto lengths = static_cast<float>(std::max(1, longest - shape_.min_window + 1));
  breadth_step_ = static_cast<float>(shape_.max_breadth - shape_.min_breadth) / lengths;
  for (int length = longest; length >= shape_.min_window && !is_full(); --length) {
    const NgramTrie::Id node = trie.at_end(cursor, length);
    if (node == 0 || trie.first_child(node) == 0) continue;
    const Found anchor{.node = node,
                       .draft = -1,
                       .context = length,
                       .breadth = static_cast<float>(longest - length) * breadth_step_ +
                                  static_cast<float>(shape_.min_breadth)};
    if (shape_.order == NgramShape::Order::kNewest)
      grow_newest(trie, anchor);
    else
      grow_most_frequent(trie, anchor);
  }
}

void NgramGrowth::grow_newest(const NgramTrie& trie, const Found& anchor) {
  waiting_.assign(1, anchor);
  for (std::size_t next = 0; next < waiting_.size() && !is_full(); ++next) {
    const Found from = waiting_[next];
    if (from.context - anchor.context >= depth_) return;
    NgramTrie::Id child = trie.first_child(from.node);
    for (int left = std::max(1, static_cast<int>(from.breadth)); child != 0 && left > 0; --left) {
      if (is_full()) return;
      const int draft = add(trie, {.node = child,
                                   .parent = from.draft,
                                   .context = from.context,
                                   .share = share_of(trie, from, child),
                                   .probability = 0,
                                   .order = 0});
      waiting_.push_back({.node = child,
                          .draft = draft,
                          .context = from.context + 1,
                          .breadth = from.breadth - breadth_step_});
      child = trie.next_sibling(child);
    }
  }
}

void NgramGrowth::grow_most_frequent(const NgramTrie& trie, const Found& anchor) {
  const auto is_worse = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability < b.probability : a.order > b.order;
  };
  heap_.clear();
  candidates_ = 0;
  push_most_frequent(trie, anchor, 1);
  while (!heap_.empty() && !is_full()) {
    std::pop_heap(heap_.begin(), heap_.end(), is_worse);
    const Candidate best = heap_.back();
    heap_.pop_back();
    const int draft = add(trie, best);
    if (best.context + 1 - anchor.context >= depth_) continue;
    const std::size_t before = heap_.size();
    push_most_frequent(trie, {best.node, draft, best.context + 1, 0}, best.probability);
    for (std::size_t size = before + 1; size <= heap_.size(); ++size)
      std::push_heap(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(size), is_worse);
  }
}

// Appends the children to the heap's memory. Those of an anchor come best first, which is a heap.
void NgramGrowth::push_most_frequent(const NgramTrie& trie, const Found& from, float probability) {
  ranked_.clear();
  for (NgramTrie::Id child = trie.first_child(from.node);
       child != 0 && ranked_.size() < at(kMostRanked); child = trie.next_sibling(child))
    ranked_.push_back(child);
  std::ranges::sort(ranked_, [&](NgramTrie::Id a, NgramTrie::Id b) {
    return trie.count(a) != trie.count(b) ? trie.count(a) > trie.count(b)
                                          : trie.token(a) < trie.token(b);
  });
  if (ranked_.size() > at(shape_.max_breadth)) ranked_.resize(at(shape_.max_breadth));
  float sum = 0;
  for (const NgramTrie::Id child : ranked_) sum += static_cast<float>(trie.count(child));
  for (const NgramTrie::Id child : ranked_)
    heap_.push_back({.node = child,
                     .parent = from.draft,
                     .context = from.context,
                     .share = share_of(trie, from, child),
                     .probability = static_cast<float>(trie.count(child)) / sum * probability,
                     .order = candidates_++});
}

// The run of an anchor ends the text itself, where nothing has followed yet.
float NgramGrowth::share_of(const NgramTrie& trie, const Found& from, NgramTrie::Id child) {
  const auto times = static_cast<float>(trie.count(from.node)) - (from.draft < 0 ? 1.0F : 0.0F);
  return std::min(1.0F, static_cast<float>(trie.count(child)) / std::max(1.0F, times));
}

int NgramGrowth::add(const NgramTrie& trie, const Candidate& candidate) {
  return drafts_->add({.token = trie.token(candidate.node),
                       .parent = candidate.parent,
                       .context = candidate.context,
                       .share = candidate.share});
}

}  // namespace foretoken
