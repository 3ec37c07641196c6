#pragma once
// PartPace: the pace of one of several drafters that share the trees of a batch. It answers as the
// pace of all does, in the part's own scores; the part rests where another drafter makes it
// superfluous, or where the request does not want its drafts. Engine thread only.

#include <vector>

#include "base/index.h"
#include "draft/draft_pace.h"
#include "draft/pace/score_trust.h"

namespace foretoken {

class PartPace final : public DraftPace {
 public:
  // The pace outlives it.
  PartPace(DraftPace& all, int num_slots) : all_(&all), duty_(at(num_slots), Duty::kDrafts) {}

  // Asks this pace from now on.
  void ask(DraftPace& all) { all_ = &all; }

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
  float least_score() const override {
    return all_->least_score() / static_cast<float>(trust_.factor());
  }
  bool is_level_worth(int rows, double promised) const override {
    return all_->is_level_worth(rows, promised * trust_.factor());
  }
  void rate(int level, std::span<float> probabilities) const override {
    all_->rate(level, probabilities);
  }
  void begin_forward(DraftWork work) override { all_->begin_forward(work); }
  void end_forward(int rows) override { all_->end_forward(rows); }

 private:
  DraftPace* all_;
  ScoreTrust trust_;
  std::vector<Duty> duty_;  // by slot
};

}  // namespace foretoken
