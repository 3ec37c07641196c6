#pragma once
// MeasuredPace: drafts what pays on this machine and this text, by the clock: what steps take with
// drafts and without, what rows and levels add to them, and what became of drafts. Under load, or
// where drafts are poor, all sequences rest, which is plain decoding. Where there are many of them,
// drafts are tried for a few first. What drafts without a model rests for itself, and a model has
// to bring more than is there without it. Engine thread only.

#include <array>
#include <functional>
#include <vector>

#include "base/index.h"
#include "draft/pace/linear_cost.h"
#include "draft/pace/node_worth.h"
#include "draft/pace/rest_choice.h"
#include "draft/pace/trial_group.h"
#include "draft/step_pace.h"

namespace foretoken {

class MeasuredPace : public StepPace {
 public:
  using Clock = std::function<double()>;  // seconds since some moment

  explicit MeasuredPace(Clock clock = steady_seconds);

  void open(SeqSlot slot) override;
  void spare(SeqSlot slot) override { group_.spare(slot); }
  void spare_texts(SeqSlot slot) override { has_texts_[at(slot)] = 0; }
  void observe(const CommittedRows& rows) override;
  bool rests(SeqSlot slot) const override { return rests_ || (others_rest_ && !group_.has(slot)); }
  bool sleeps(SeqSlot slot) const override {
    return sleeps_ || (others_sleep_ && slot != kNoSlot && !group_.has(slot));
  }
  void begin_forward(DraftWork work) override;
  void end_forward(int rows) override;
  float least_score() const override { return least_score(rests_); }
  bool is_level_worth(int rows, double promised) const override;
  void plant(SeqSlot slot, double promised) override;
  void end_growth() override;
  DraftPace& texts() override { return texts_; }
  void credit_texts(SeqSlot slot, int drafts, int accepted) override;

  static double steady_seconds();

 private:
  // What those heed that run no model.
  class Texts final : public DraftPace {
   public:
    explicit Texts(const MeasuredPace& pace) : pace_(pace) {}
    bool rests(SeqSlot) const override { return pace_.texts_rest_; }
    float least_score() const override { return pace_.least_score(pace_.texts_rest_); }

   private:
    const MeasuredPace& pace_;
  };
  bool may_have_texts(const StepPlan& plan) const;

  struct Drafted {  // a tree that is being verified
    bool is_planted = false;
    double promised = 0;
  };
  // Of the last drafted steps without prompts, means.
  struct UsualStep {
    double seconds = 0, tokens = 0;
    int steps = 0;
  };
  // What a step computed for sequences that decode, or for some of them.
  struct Decoded {
    int sequences = 0, rows = 0, tokens = 0;
    bool is_planted = false;  // there were drafts among the rows
    int drafts() const { return rows - sequences; }
    int accepted() const { return tokens - sequences; }
  };
  // What the draft model took for the trees that are being verified, seconds.
  struct Work {
    double reading = 0, growing = 0;
  };

  // What trees take of the target; while no step was without prompts, what all rows do.
  const LinearCost& target() const { return step_.of(1) > 0 ? step_ : mixed_; }
  Decoded count(const CommittedRows& rows);
  void learn_costs(const Decoded& decoded, const CommittedRows& rows, double seconds);
  void learn_gain(const Decoded& decoded, double seconds);
  double undrafted(const Decoded& decoded) const;
  double gain(const Decoded& decoded, double seconds);
  double gain_of_texts(const Decoded& decoded) const;
  double guess(const Decoded& decoded, double times, double row_seconds, const Work& work) const;
  void choose(const StepPlan& plan);
  float least_score(bool rests) const { return rests ? worth_.break_even() : worth_.least_score(); }

  const Clock clock_;
  NodeWorth worth_;
  RestChoice rest_{true};              // of the draft model
  RestChoice texts_choice_;            // of what drafts without one
  TrialGroup group_;                   // for which it is tried, where not for all
  LinearCost step_;                    // of the target, by rows of trees
  LinearCost mixed_;                   // by all rows, where there were prompts and no drafts
  std::array<LinearCost, 3> forward_;  // of the draft model, by its work and rows
  std::vector<Drafted> drafted_;       // by slot
  std::vector<char> has_texts_;        // by slot: there may be drafts without a model
  bool rests_ = false, sleeps_ = false, texts_rest_ = false;
  bool others_rest_ = false, others_sleep_ = false;  // than those in the group
  Texts texts_{*this};
  Decoded tried_;                                    // of the group alone, in the step that is told
  double times_ = 1;                                 // sequences for each in the group
  int credited_drafts_ = 0, credited_accepted_ = 0;  // of the trees that are being verified
  int awake_ = 1 << 16, others_awake_ = 1 << 16;     // steps since all slept, since the others did
  // Those that the model was asked for, the others, and all.
  UsualStep asked_, unasked_, drafted_steps_;
  bool has_prompts_ = false;  // the step that is told
  int batch_rows_ = 0;        // its
  double verifying_ = 0;      // what the target took for it, seconds
  double observed_ = 0;       // when the step before was complete; 0: there was none
  double grown_ = 0;          // when its trees were complete
  DraftWork work_ = DraftWork::kReading;
  double work_begin_ = 0;
  Work took_, of_all_;      // what it took; what it would have taken had it drafted for all
  bool was_asked_ = false;  // it was asked for them, whether it found any
};

}  // namespace foretoken
