#pragma once
// StateProgram: what the rows of a batch find and leave in layers that keep a state, as lists of
// numbers that shaders read (shaders/states.glsl): the tokens before each row, the state before its
// block, the blocks that it completes. The same for all layers of a model. Pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/recurrent.h"
#include "batch/batch.h"

namespace foretoken {

// Moves of rows of one matrix to rows of another, in order.
struct RowMoves {
  std::vector<std::int32_t> from, to;
  void add(std::int64_t from_row, std::int64_t to_row) {
    from.push_back(static_cast<std::int32_t>(from_row));
    to.push_back(static_cast<std::int32_t>(to_row));
  }
};

// How many of them a layer has in its memory; of a batch and these, a program follows.
struct StateCounts {
  std::int64_t items = 0, taps = 0;
  bool operator==(const StateCounts&) const = default;
};

struct StateProgram {
  // A token, or a state: its kind in the two upper bits, its number in the others; 0: none.
  enum Token : std::uint32_t { kOfRow = 1U << 30U, kOfItem = 2U << 30U, kOfTail = 3U << 30U };
  enum State : std::uint32_t { kOfPage = 1U << 30U, kMade = 2U << 30U };

  struct Row {
    std::uint32_t path = 0, count = 0;  // its tokens before it in the block, in `paths`
    std::uint32_t from = 0, then = 0;   // states: before the block, and behind it where it ends
  };
  struct Seq {
    std::uint32_t first_row, rows;
  };

  std::vector<std::uint32_t> tokens;  // [rows][taps], of the convolution
  std::vector<std::uint32_t> before;  // [rows]: the last one of the path
  std::vector<Seq> seqs;
  std::vector<Row> rows;
  std::vector<std::uint32_t> paths;
  std::int32_t made = 0;  // states that nodes of trees need
  RowMoves tails[3];      // inputs of rows, of items, of tails that become those of a tail
  RowMoves items;         // rows that become items

  // What it was made of.
  StateCounts counts;
  std::vector<std::int32_t> position, pages;
  std::vector<std::uint64_t> mask;
  bool is_of(const Batch& batch, const StateCounts& of) const;
};

StateProgram make_state_program(const Batch& batch, const StateLayer& states);
StateCounts counts_of(const StateLayer& states);

// What becomes of accepted nodes: items move, blocks that they complete become states, and again.
struct KeepStage {
  struct Block {
    std::uint32_t page, has_state, next;
  };
  RowMoves items;
  std::vector<Block> blocks;
  RowMoves tails;  // from items
};
std::vector<KeepStage> keep_stages(const Walk& walk, const Batch& batch, const StateLayer& states);

}  // namespace foretoken
