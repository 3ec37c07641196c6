#include "batch/tree.h"

#include "base/error.h"

namespace foretoken {

DraftTrees::DraftTrees(int slots, int max_nodes)
    : slots_(slots),
      max_nodes_(max_nodes),
      token_(static_cast<std::size_t>(slots) * static_cast<std::size_t>(max_nodes), kNoToken),
      parent_(token_.size(), -1),
      score_(token_.size(), 1.0F),
      size_(static_cast<std::size_t>(slots), 0) {
  CHECK(slots >= 0 && max_nodes >= 1 && max_nodes <= kMaxTreeNodes)
      << slots << " slots, " << max_nodes << " nodes";
}

std::span<const Token> DraftTrees::tokens(SeqSlot slot) const {
  return std::span(token_).subspan(index(slot) * static_cast<std::size_t>(max_nodes_),
                                   static_cast<std::size_t>(size(slot)));
}

std::span<const std::int32_t> DraftTrees::parents(SeqSlot slot) const {
  return std::span(parent_).subspan(index(slot) * static_cast<std::size_t>(max_nodes_),
                                    static_cast<std::size_t>(size(slot)));
}

std::span<const float> DraftTrees::scores(SeqSlot slot) const {
  return std::span(score_).subspan(index(slot) * static_cast<std::size_t>(max_nodes_),
                                   static_cast<std::size_t>(size(slot)));
}

void DraftTrees::plant(SeqSlot slot, Token root) {
  CHECK(slot >= 0 && slot < slots_) << "slot " << slot;
  const std::size_t first = index(slot) * static_cast<std::size_t>(max_nodes_);
  token_[first] = root;
  parent_[first] = -1;
  size_[index(slot)] = 1;
}

int DraftTrees::grow(SeqSlot slot, int parent, Token token, float score) {
  const int nodes = size(slot);
  CHECK(parent >= 0 && parent < nodes) << "parent " << parent << " of " << nodes << " nodes";
  const std::size_t first = index(slot) * static_cast<std::size_t>(max_nodes_);
  for (int n = parent + 1; n < nodes; ++n) {
    const std::size_t at = first + static_cast<std::size_t>(n);
    if (parent_[at] == parent && token_[at] == token) return n;
  }
  if (nodes == max_nodes_) return -1;
  const std::size_t at = first + static_cast<std::size_t>(nodes);
  token_[at] = token;
  parent_[at] = parent;
  score_[at] = score;
  size_[index(slot)] = nodes + 1;
  return nodes;
}

void DraftTrees::prune(SeqSlot slot, int nodes) {
  CHECK(nodes >= 1) << "a tree keeps its root";
  if (nodes < size(slot)) size_[index(slot)] = nodes;
}

void tree_depths(std::span<const std::int32_t> parents, std::span<std::int32_t> out) {
  for (std::size_t n = 0; n < parents.size(); ++n)
    out[n] = parents[n] < 0 ? 0 : out[static_cast<std::size_t>(parents[n])] + 1;
}

void tree_masks(std::span<const std::int32_t> parents, std::span<std::uint64_t> out) {
  for (std::size_t n = 0; n < parents.size(); ++n) {
    const std::uint64_t ancestors = parents[n] < 0 ? 0 : out[static_cast<std::size_t>(parents[n])];
    out[n] = ancestors | (std::uint64_t{1} << n);
  }
}

std::string tree_fault(std::span<const Token> tokens, std::span<const std::int32_t> parents) {
  if (tokens.size() != parents.size())
    return std::to_string(tokens.size()) + " tokens but " + std::to_string(parents.size()) +
           " parents";
  if (parents.empty()) return "the tree has no root";
  if (parents.size() > static_cast<std::size_t>(kMaxTreeNodes))
    return std::to_string(parents.size()) + " nodes, at most " + std::to_string(kMaxTreeNodes);
  if (parents[0] != -1) return "the root has parent " + std::to_string(parents[0]);
  for (std::size_t n = 1; n < parents.size(); ++n) {
    if (parents[n] < 0 || parents[n] >= static_cast<std::int32_t>(n))
      return "node " + std::to_string(n) + " has parent " + std::to_string(parents[n]);
    for (std::size_t m = 1; m < n; ++m)
      if (parents[m] == parents[n] && tokens[m] == tokens[n])
        return "nodes " + std::to_string(m) + " and " + std::to_string(n) +
               " are siblings with token " + std::to_string(tokens[n]);
  }
  return {};
}

}  // namespace foretoken
