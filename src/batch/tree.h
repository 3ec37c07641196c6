#pragma once
// DraftTrees: what the drafters propose, one tree per slot, arrays of fixed shape [slots,
// max_nodes]. Node 0 is the root: the last committed token, whose KV is not stored yet. Every other
// node is a proposal. Plain decoding is the tree of one node. Depth, positions and ancestor masks
// are derived from `parent`, here and nowhere else. Invariants: parent[0] = -1; 0 <= parent[n] < n;
// siblings carry different tokens. Owned by the engine thread; plain data, so that a device can
// hold the same arrays.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

inline constexpr int kMaxTreeNodes = 64;  // one bit per node in an ancestor mask

// How large a tree may become: what it takes to verify it are its nodes, what it may commit is its
// depth.
struct TreeLimits {
  int nodes = kMaxTreeNodes;  // root included
  int depth = kMaxTreeNodes;  // of the deepest node, root 0
};

class DraftTrees {
 public:
  DraftTrees(int slots, int max_nodes);  // 1 <= max_nodes <= kMaxTreeNodes

  int slots() const { return slots_; }
  int max_nodes() const { return max_nodes_; }

  int size(SeqSlot slot) const { return size_[index(slot)]; }
  std::span<const Token> tokens(SeqSlot slot) const;
  std::span<const std::int32_t> parents(SeqSlot slot) const;
  // How probable their drafter takes the nodes to be; 1: nothing is known. No node is more
  // probable than its parent.
  std::span<const float> scores(SeqSlot slot) const;

  // The tree of one node.
  void plant(SeqSlot slot, Token root);
  // Adds a proposal and returns its node, or the node of the sibling that already carries the
  // token, or -1 when the tree is full.
  int grow(SeqSlot slot, int parent, Token token, float score = 1.0F);
  // Keeps the first `nodes` nodes: parents precede children, so a prefix is a tree. Of a tree that
  // was grown best first, as UnionDrafter does, these are the best.
  void prune(SeqSlot slot, int nodes);

 private:
  std::size_t index(SeqSlot slot) const { return static_cast<std::size_t>(slot); }
  int slots_;
  int max_nodes_;
  std::vector<Token> token_;
  std::vector<std::int32_t> parent_;
  std::vector<float> score_;
  std::vector<std::int32_t> size_;
};

// Depth of each node, root 0. out.size() == parents.size().
void tree_depths(std::span<const std::int32_t> parents, std::span<std::int32_t> out);

// Bit a of out[n] is set iff a is n or an ancestor of n.
void tree_masks(std::span<const std::int32_t> parents, std::span<std::uint64_t> out);

// One sentence naming the first broken invariant, or empty.
std::string tree_fault(std::span<const Token> tokens, std::span<const std::int32_t> parents);

}  // namespace foretoken
