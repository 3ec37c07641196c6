#pragma once
// Where the rows of a batch find what came before them in layers that keep a state, where memory is
// the host's: rows of the step, items of the block, the state before it. Views, for one call.
//
// A row of a sequence is named by its place: 0 .. chain - 1 in the chain, then the nodes; -1 is the
// last token before the step, -2 the one before that.

#include <cstdint>
#include <vector>

#include "backend/host/state_loops.h"
#include "backend/recurrent.h"
#include "batch/batch.h"

namespace foretoken {

// Tokens of one block in order, as one head sees them.
struct StatePath {
  struct Item {
    const float* key;
    const float* update;
    float decay;  // G
  };
  std::vector<const float*> keys, updates;
  std::vector<float> decays;

  void add(const Item& item);
  void clear();
  bool empty() const { return decays.empty(); }
  std::size_t size() const { return decays.size(); }
};

// to [key_dim, value_dim] = the state behind the items of `path`, from that before them (null: 0).
void advance_state(const StateLoops& loops, const RecurrentShape& shape, const StatePath& path,
                   const float* from, float* to);

// Parts of a page.
float* head_state(const StateLayer& states, std::int32_t page, int head);
float* tail_input(const StateLayer& states, std::int32_t page, std::int32_t place);
// key_at: of the head's key among all of them.
StatePath::Item item_of(const StateLayer& states, std::int32_t page, std::int32_t item, int head,
                        int key_at);

class SeqStates {
 public:
  SeqStates(const Batch& batch, const BatchSeq& seq, const StateLayer& states);

  std::int32_t first_row() const { return seq_.first_row; }
  std::int32_t rows() const { return seq_.rows; }
  std::int32_t chain() const { return seq_.chain; }
  std::int32_t nodes() const { return seq_.rows - seq_.chain; }

  // ---- before the step
  std::int32_t page() const { return seq_.state_page; }
  bool has_state() const { return start_ > 0; }               // else it is 0
  std::int32_t stored() const { return seq_.base - start_; }  // items of the block

  // ---- behind the chain
  std::int32_t page_of_tree() const;
  std::int32_t start_of_tree() const { return tree_start_ - seq_.base; }  // the block's first place
  // The item that a row becomes; -1: it is in a block before that of the tree.
  std::int32_t item(std::int32_t place) const;

  // ---- rows
  std::int32_t before(std::int32_t place) const;  // the parent, or the token before
  // The inputs of the convolution of a place; null before the text.
  const float* input(const Tensor& inputs, std::int32_t place) const;
  std::int32_t end_of_block(std::int32_t place) const;  // of the chain: one past its rows
  bool completes_block(std::int32_t place) const;
  // The node above `place`, of a node, that completes the block before its own; -1: none does.
  std::int32_t last_of_block_before(std::int32_t place) const;
  // Nodes above `place` and below `last`, in order.
  std::vector<std::int32_t> nodes_above(std::int32_t place, std::int32_t last) const;

 private:
  std::int32_t position(std::int32_t place) const;
  std::uint64_t above(std::int32_t place) const;  // nodes above that of a place, as bits

  const Batch& batch_;
  const BatchSeq& seq_;
  const StateLayer& states_;
  std::int32_t start_, tree_start_;  // positions
};

}  // namespace foretoken
