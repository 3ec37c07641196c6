#pragma once
// PartPace: how much one of several drafters does that share the trees of a batch: what the pace of
// all says, in the part's own scores, but nothing for those sequences that it need not draft for.
// Whoever joins the trees reports to the pace of all, so the part's own reports end here. Engine
// thread only.

#include <vector>

#include "base/index.h"
#include "draft/draft_pace.h"
#include "draft/pace/score_trust.h"

namespace foretoken {

class PartPace final : public DraftPace {
 public:
  // The pace outlives it.
  PartPace(DraftPace& all, int num_slots) : all_(&all), duty_(at(num_slots), Duty::kDrafts) {}

  // The part runs no model.
  void heed_texts() { all_ = &all_->texts(); }

  // Whether the part drafts for a slot: until said otherwise; kNever: for the request in it.
  enum class Duty : char { kDrafts, kSpared, kNever };
  void assign(SeqSlot slot, Duty duty) { duty_[at(slot)] = duty; }
  Duty duty(SeqSlot slot) const { return duty_[at(slot)]; }
  ScoreTrust& trust() { return trust_; }

  bool rests(SeqSlot slot) const override {
    return duty(slot) != Duty::kDrafts || all_->rests(slot);
  }
  bool sleeps(SeqSlot slot) const override {
    return (slot != kNoSlot && duty(slot) == Duty::kNever) || all_->sleeps(slot);
  }
  void begin_forward(DraftWork work) override { all_->begin_forward(work); }
  void end_forward(int rows) override { all_->end_forward(rows); }
  void rate(int level, std::span<float> probabilities) const override {
    all_->rate(level, probabilities);
  }
  float least_score() const override {
    return all_->least_score() / static_cast<float>(trust_.factor());
  }
  bool is_level_worth(int rows, double promised) const override {
    return all_->is_level_worth(rows, promised * trust_.factor());
  }

 private:
  DraftPace* all_;
  ScoreTrust trust_;
  std::vector<Duty> duty_;  // by slot
};

}  // namespace foretoken
