#pragma once
// TargetCost: what steps of the target take, by their rows, fitted to what they took. Steps that
// compute prompts are kept apart: a row of a prompt costs less than one of a tree. Not a clock: it
// is told seconds. Engine thread only.

#include <algorithm>

#include "draft/pace/linear_cost.h"

namespace foretoken {

class TargetCost {
 public:
  // Of a step without prompts; of one with prompts and without drafts.
  void add(int rows, double seconds) { trees_.add(rows, seconds); }
  void add_with_prompts(int rows, double seconds) { mixed_.add(rows, seconds); }

  // Of rows of trees; while no step was without prompts, of all rows.
  const LinearCost& trees() const { return trees_.of(1) > 0 ? trees_ : mixed_; }
  double plain(int sequences) const { return trees().of(sequences); }
  double row() const { return trees().per_row(); }

  // What a step with prompts of `rows` rows, `drafts` of them drafts, that took `seconds` would
  // have taken without them: what others took that had as many rows, or this one less its drafts'
  // rows, if less; but no less than a plain step.
  double undrafted(int rows, int drafts, int sequences, double seconds) const {
    const double less = seconds - drafts * row();
    const double like = mixed_.of(rows - drafts);
    return std::max(plain(sequences), like > 0 ? std::min(like, less) : less);
  }

 private:
  LinearCost trees_;
  LinearCost mixed_;
};

}  // namespace foretoken
