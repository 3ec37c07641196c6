#pragma once
// ErraticPace: a pace of drafting for tests, that follows no reason: sequences rest and wake at
// random, for few steps and for many, and trees are cut anywhere. None of it may show in a text.
// Of one seed it always does the same.

#include <random>
#include <vector>

#include "base/index.h"
#include "draft/step_pace.h"

namespace foretoken {

class ErraticPace final : public StepPace {
 public:
  explicit ErraticPace(std::uint64_t seed) : random_(seed) {}

  void open(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  bool rests(SeqSlot slot) const override { return all_sleep_ || slots_[at(slot)].rests; }
  bool sleeps(SeqSlot slot) const override {
    return all_sleep_ || (slot != kNoSlot && slots_[at(slot)].sleeps);
  }
  float least_score() const override { return least_score_; }
  bool is_level_worth(int rows, double promised) const override;

 private:
  struct Slot {
    bool rests = false, sleeps = false;
    int steps_left = 0;  // until that changes
  };

  std::mt19937_64 random_;
  std::vector<Slot> slots_;
  bool all_sleep_ = false;
  float least_score_ = 0;
  int most_rows_ = 0;  // of a level
};

}  // namespace foretoken
