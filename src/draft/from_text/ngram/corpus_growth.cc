#include "draft/from_text/ngram/corpus_growth.h"

#include <algorithm>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostPlaces = 32;

}  // namespace

void CorpusGrowth::grow(const Corpus& corpus, const Corpus::Match& match, int most, int depth,
                        DraftList& drafts) {
  if (most <= 0 || match.places.empty()) return;
  const std::size_t looked_at = std::min(match.places.size(), kMostPlaces);
  nodes_.assign(1, {.token = kDocumentEnd, .parent = -1, .depth = 0});
  for (std::size_t i = 0; i < looked_at; ++i)
    read(corpus, match.places[i * match.places.size() / looked_at], std::min(depth, most));

  order_.clear();
  for (std::size_t i = 1; i < nodes_.size(); ++i) order_.push_back(static_cast<int>(i));
  // A parent is no rarer and no older than its children and was found before them, so it comes
  // first.
  std::ranges::stable_sort(order_, [&](int a, int b) {
    const Node &x = nodes_[at(a)], &y = nodes_[at(b)];
    return shape_.order == NgramShape::Order::kNewest ? x.newest > y.newest : x.count > y.count;
  });
  if (order_.size() > at(most)) order_.resize(at(most));
  for (const int number : order_) {
    Node& node = nodes_[at(number)];
    const Node& parent = nodes_[at(node.parent)];
    node.draft =
        drafts.add({.token = node.token,
                    .parent = parent.draft,
                    .context = match.context + parent.depth,
                    .share = static_cast<float>(node.count) / static_cast<float>(parent.count)});
  }
}

void CorpusGrowth::read(const Corpus& corpus, std::int32_t place, int depth) {
  int node = 0;
  ++nodes_[0].count;
  for (int ahead = 0; ahead < depth; ++ahead) {
    const Token token = corpus.at_place(place + ahead);
    if (token == kDocumentEnd) return;
    node = child(node, token);
    ++nodes_[at(node)].count;
    nodes_[at(node)].newest = std::max(nodes_[at(node)].newest, place);
  }
}

int CorpusGrowth::child(int parent, Token token) {
  for (int i = nodes_[at(parent)].first_child; i >= 0; i = nodes_[at(i)].next)
    if (nodes_[at(i)].token == token) return i;
  const int made = static_cast<int>(nodes_.size());
  nodes_.push_back({.token = token,
                    .parent = parent,
                    .depth = nodes_[at(parent)].depth + 1,
                    .next = nodes_[at(parent)].first_child});
  nodes_[at(parent)].first_child = made;
  return made;
}

}  // namespace foretoken
