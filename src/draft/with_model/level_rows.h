#pragma once
// LevelRows: the rows of a draft model while trees grow: behind the roots that a DraftReader has
// read, a batch for each level, every row seeing its own ancestors. What a level stores lies behind
// the committed text and is forgotten with the step. Levels are laid out in the reader's own batch,
// on the page lists of its last read. Not a tree: who calls decides which rows there are, numbers
// them, and says which places are free. Engine thread only.
//
//   pages of a sequence   | committed text | root | place 0 | place 1 | ... place 63 |
//   mask of a row         one bit for each place: its own and those of its ancestors

#include <cstdint>
#include <vector>

#include "backend/ops.h"
#include "base/index.h"
#include "draft/with_model/draft_reader.h"
#include "model/draft_model.h"

namespace foretoken {

class LevelRows {
 public:
  static constexpr int kRoot = -1;    // as the parent of a row
  static constexpr int kPlaces = 64;  // of a sequence

  // References outlive it.
  LevelRows(Ops& ops, DraftModel& model, DraftReader& reader)
      : ops_(ops), model_(model), reader_(reader) {}

  void clear();
  // Adds a sequence whose root was read last; it must have one. Its number is how many there were.
  void add_root(SeqSlot slot);
  // What the model made of the roots, [sequences, hidden width].
  Tensor roots();

  // A level at this depth below the roots, sequence by sequence; rows do not lie in places whose
  // bits are taken.
  void begin_level(int depth);
  void begin_sequence(std::size_t sequence, std::uint64_t taken);
  // Adds row `row` below an earlier row of the sequence, or below kRoot.
  void add_row(int row, int parent, Token token);
  // What the model makes of the level, [rows of it, hidden width].
  Tensor forward();

  // Bits of the place that a row lies in, and of all places that it sees; 0: there is no such row.
  std::uint64_t place(std::size_t sequence, int row) const;
  std::uint64_t mask(std::size_t sequence, int row) const;

 private:
  struct Row {
    std::uint64_t place = 0, mask = 0;
    std::int32_t at = 0;  // in the batch of its level
  };
  struct Sequence {
    BatchSeq seq = {};          // in the reader's batch, and then in those of levels
    std::int32_t root = 0;      // row of what the reader found
    std::int32_t position = 0;  // of the root
    std::int32_t end = 0;       // index into the pages behind the root
    std::uint64_t taken = 0;    // places, in the level that is laid out
    std::vector<Row> rows;      // by number
  };
  const Row& row_of(std::size_t sequence, int row) const;
  Tensor gather(Tensor found);

  Ops& ops_;
  DraftModel& model_;
  DraftReader& reader_;
  std::vector<Sequence> sequences_;  // the first size_ are in use
  std::size_t size_ = 0;
  std::size_t now_ = 0;  // the sequence whose rows are added
  int depth_ = 0;
  DraftRows above_;                    // what the model made of the rows above
  std::vector<std::int32_t> parents_;  // rows of it
};

}  // namespace foretoken
