#pragma once
// LevelGrower: grows the trees of a batch side by side, level by level, while the next level is
// worth its forward (DraftPace). Not a source of candidates: a LevelSource computes them. Allocates
// nothing once its vectors have grown. Engine thread only.
//
//   clear  add*             the trees, each with its shape and limits
//   grow                    level 0: children of the roots; level n: of followed() ones of level n
//   plant*                  the best of all levels become nodes

#include <cstddef>
#include <span>
#include <vector>

#include "base/index.h"
#include "draft/draft_pace.h"
#include "draft/tree_growth.h"

namespace foretoken {

// Where the candidates of a level come from.
class LevelSource {
 public:
  virtual ~LevelSource() = default;

  // Computes what `rows` rows lead to: those of each tree that LevelGrower::grows(). At level 0 a
  // tree has one row, its root; later those that it has followed().
  virtual void compute(int level, int rows) = 0;
  // Appends the candidates below the rows of one tree: topk of its shape for each row, most
  // probable first. Asked of all trees that grow, in their order.
  virtual void list(std::size_t tree, std::vector<Token>& tokens,
                    std::vector<float>& probabilities) = 0;
};

class LevelGrower {
 public:
  void clear() { size_ = 0; }
  // Another tree, of at least one level; returns its number.
  std::size_t add(const TreeShape& shape, const TreeLimits& limits, float least_score);
  void grow(LevelSource& source, DraftPace& pace);
  // The tree becomes that of the slot.
  void plant(std::size_t tree, SeqSlot slot, DraftTrees& trees) {
    growing_[tree].growth.plant(slot, trees);
  }

  std::size_t size() const { return size_; }
  const TreeGrowth& tree(std::size_t number) const { return growing_[number].growth; }
  TreeGrowth& tree(std::size_t number) { return growing_[number].growth; }
  // Whether the tree has rows in the level that is being computed.
  bool grows(std::size_t tree) const { return growing_[tree].has_rows; }

 private:
  struct Growing {
    TreeGrowth growth;
    bool has_rows = true;
  };
  std::span<Growing> growing() { return std::span(growing_).first(size_); }
  void compute(int level, int rows, LevelSource& source, DraftPace& pace);
  int choose_rows(const DraftPace& pace);

  std::vector<Growing> growing_;  // the first size_ are in use
  std::size_t size_ = 0;
  std::vector<Token> tokens_;         // of a tree's level
  std::vector<float> probabilities_;  // likewise
};

}  // namespace foretoken
