#pragma once
// How a draft tree grows (EAGLE-2): level by level, the children of the best candidates so far,
// each scored by the product of the probabilities along its path; at last the best of all levels
// are kept. Pure bookkeeping on token ids and scores: no model, no KV. One object serves one
// sequence and keeps its memory between trees. Engine thread only.

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"
#include "base/types.h"
#include "batch/tree.h"

namespace foretoken {

struct TreeShape {
  int steps = 1;  // levels below the root
  int topk = 1;   // children of a node, and nodes of a level that are followed further
  int nodes = 2;  // of the tree that is verified, root included
};

// How many nodes a tree gets: as many as pay on this machine and this text, or all of its shape.
enum class TreeBudget { kMeasured, kFull };

// Candidates that a tree of these levels can have, root excluded.
int most_candidates(int steps, int topk);

// Nodes that a tree of this shape's levels can have, root included; sizes beyond what can be
// verified are all the same.
int most_nodes(const TreeShape& shape);

// A shape that gives the same trees, and asks for no more levels and children than could get into
// them.
TreeShape needed_shape(const TreeShape& shape);

// KV slots that the draft model takes behind the text while a tree grows: one for the root, one for
// every candidate that is followed and may still get into the tree.
int draft_slots(const TreeShape& shape);

// Sets `out` to the indices of the best `count` scores of at least `least`, ascending; equal
// scores: the lower index first; what is not a number is never chosen.
void best_scores(std::span<const float> scores, int count, float least, std::vector<int>& out);

class TreeGrowth {
 public:
  // Starts a tree within its shape and the limits, no node of a score below `least`.
  void start(const TreeShape& shape, const TreeLimits& limits, float least = 0.0F);

  // The children of the rows that were followed last (of the root, at first): topk per row, most
  // probable first. Tokens below 0 are no candidates.
  void add_level(std::span<const Token> tokens, std::span<const float> probabilities);

  // The candidates of the newest level that are worth a row of the draft model, best first. Those
  // that cannot get into the tree any more are left out, with all they might have led to.
  std::span<const int> followed() const { return followed_; }
  // Those of all levels that may still get into the tree, ascending; with a candidate all that it
  // came from.
  std::span<const int> kept() const { return chosen_; }
  int levels() const { return levels_; }
  int most_levels() const { return most_levels_; }

  Token token(int candidate) const { return token_[at(candidate)]; }
  int parent(int candidate) const { return parent_[at(candidate)]; }  // -1: the root
  float score(int candidate) const { return score_[at(candidate)]; }

  // The candidates that make the tree, ascending, so that parents precede children.
  std::span<const int> chosen();

  // The same, as nodes of the slot's tree. Returns the sum of their scores.
  double plant(SeqSlot slot, DraftTrees& trees);

 private:
  void follow_best(int first);

  TreeShape shape_;
  float least_score_ = 0.0F;
  int most_chosen_ = 0;  // nodes of the tree without the root
  int most_levels_ = 0;
  int levels_ = 0;
  std::vector<Token> token_;
  std::vector<float> score_;
  std::vector<int> parent_;
  std::vector<int> followed_;
  std::vector<int> parents_;  // of the level that is being added
  std::vector<int> chosen_;
  std::vector<int> node_;  // by candidate: in the tree that is planted, -1: none
};

}  // namespace foretoken
