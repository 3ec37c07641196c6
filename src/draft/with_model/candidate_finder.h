#pragma once
// CandidateFinder: the tokens that may follow rows of a draft model, and the chance of each: the
// most probable ones, or, for sequences that are sampled, those that the target's own sampler would
// draw from the draft model's logits: its noise, temperature, filters, biases and penalties
// (coupled). Not a drafter: it grows nothing. Allocates nothing once its vectors have grown. Engine
// thread only.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "base/index.h"
#include "draft/coupling.h"
#include "draft/drafter.h"
#include "draft/with_model/coupling_odds.h"
#include "model/draft_model.h"

namespace foretoken {

class CandidateFinder {
 public:
  // width: candidates of a row. References outlive the finder.
  CandidateFinder(Ops& ops, DraftModel& model, int width, Coupling coupling,
                  std::size_t logit_slice_bytes);

  void open(SeqSlot slot);
  // The facts of a step. What its plan points to is read until the next clear().
  void observe(const CommittedRows& rows);

  // Rows whose candidates are wanted, from row 0 of what find() is given. path: the drafts between
  // the slot's root and the row, oldest first, the row's own included; empty: it is the root.
  void clear();
  void add_row(SeqSlot slot, std::span<const Token> path);
  // Reads hidden [rows added, hidden width].
  void find(Tensor hidden);
  // `width` per row, the best first; kNoToken for none.
  std::span<const Token> tokens() const { return token_; }
  std::span<float> chances() { return chance_; }

  // Rows of the slot's sequence so far, by how their candidates were found.
  struct RowCounts {
    std::int64_t greedy = 0, coupled = 0;
  };
  RowCounts row_counts(SeqSlot slot) const { return slots_[at(slot)].rows; }

 private:
  struct Slot {  // what the sampler knows of it, for the token after the root
    const SamplingParams* params = nullptr;
    const TokenCounts* counts = nullptr;
    std::int64_t position = 0;
    int generated = 0;
    std::vector<Token> recent;  // committed since the counts were made
    RowCounts rows;
  };
  struct Draw {
    DrawRow row;
    SeqSlot slot;
    bool is_coupled;                           // else only to be judged
    std::size_t first_ancestor, end_ancestor;  // in ancestors_
  };
  void find_most_probable(Tensor logits, std::size_t first);
  void draw(Tensor logits, std::size_t first);
  void take_drawn(const Draw& draw, std::size_t number);

  Ops& ops_;
  DraftModel& model_;
  const std::size_t width_;
  const std::size_t drawn_width_;
  const bool couples_;
  const int slice_rows_;
  CouplingOdds odds_;
  std::vector<Slot> slots_;

  int rows_ = 0;
  std::vector<Draw> draws_;  // of rows that are drawn, ascending
  int coupled_rows_ = 0;     // of them
  std::vector<Token> ancestors_;
  std::size_t next_draw_ = 0;
  std::vector<Token> token_;
  std::vector<float> chance_;
  // Of a slice of rows.
  TopTokens top_;
  std::vector<DrawRow> slice_;
  DrawnTokens drawn_;
};

}  // namespace foretoken
