#include "draft/tree_growth.h"

#include <algorithm>

#include "base/error.h"

namespace foretoken {

int most_candidates(int steps, int topk) { return topk + (steps - 1) * topk * topk; }

int most_nodes(const TreeShape& shape) {
  return 1 +
         most_candidates(std::min(shape.steps, kMaxTreeNodes), std::min(shape.topk, kMaxTreeNodes));
}

TreeShape needed_shape(const TreeShape& shape) {
  const int drafts = shape.nodes - 1;
  return {.steps = std::min(shape.steps, drafts),
          .topk = std::min(shape.topk, drafts),
          .nodes = shape.nodes};
}

int draft_slots(const TreeShape& shape) {
  const auto [steps, topk, nodes] = needed_shape(shape);
  return 1 + std::max(0, std::min((steps - 1) * topk, nodes - 1));
}

void best_scores(std::span<const float> scores, int count, float least, std::vector<int>& out) {
  out.clear();
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= least) out.push_back(static_cast<int>(i));
  const auto better = [&](int a, int b) {
    const float x = scores[at(a)], y = scores[at(b)];
    return x != y ? x > y : a < b;
  };
  if (out.size() > at(count)) {
    std::nth_element(out.begin(), out.begin() + count, out.end(), better);
    out.resize(at(count));
  }
  std::sort(out.begin(), out.end());
}

void TreeGrowth::start(const TreeShape& shape, const TreeLimits& limits, float least) {
  shape_ = shape;
  least_score_ = least;
  most_chosen_ = std::min(limits.nodes, shape.nodes) - 1;
  most_levels_ = std::min({shape.steps, limits.depth, most_chosen_});
  levels_ = 0;
  token_.clear();
  score_.clear();
  parent_.clear();
  followed_.clear();
  chosen_.clear();
}

void TreeGrowth::add_level(std::span<const Token> tokens, std::span<const float> probabilities) {
  const auto width = at(shape_.topk);
  CHECK(tokens.size() == probabilities.size() && levels_ < most_levels_);
  CHECK(tokens.size() == width * (levels_ == 0 ? 1 : followed_.size()));
  parents_.assign(followed_.begin(), followed_.end());
  const int first = static_cast<int>(token_.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0) continue;
    const int parent = levels_ == 0 ? -1 : parents_[i / width];
    token_.push_back(tokens[i]);
    parent_.push_back(parent);
    score_.push_back(probabilities[i] * (parent < 0 ? 1.0F : score_[at(parent)]));
  }
  ++levels_;
  follow_best(first);
}

// No path gains by going on, so a candidate below the best most_chosen_ of what there is stays out.
void TreeGrowth::follow_best(int first) {
  best_scores(score_, most_chosen_, least_score_, chosen_);
  followed_.assign(std::lower_bound(chosen_.begin(), chosen_.end(), first), chosen_.end());
  std::stable_sort(followed_.begin(), followed_.end(),
                   [&](int a, int b) { return score(a) > score(b); });
  if (followed_.size() > at(shape_.topk)) followed_.resize(at(shape_.topk));
}

std::span<const int> TreeGrowth::chosen() {
  best_scores(score_, most_chosen_, least_score_, chosen_);
  return chosen_;
}

double TreeGrowth::plant(SeqSlot slot, DraftTrees& trees) {
  node_.assign(token_.size(), -1);
  double promised = 0;
  for (const int candidate : chosen()) {
    const int above = parent(candidate);
    // Equal scores may leave a parent out; its children then have no place.
    const int node = above < 0 ? 0 : node_[at(above)];
    if (node < 0) continue;
    node_[at(candidate)] = trees.grow(slot, node, token(candidate), score(candidate));
    promised += static_cast<double>(score(candidate));
  }
  return promised;
}

}  // namespace foretoken
