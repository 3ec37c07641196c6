#pragma once
// MeasuredPace: lets drafters do what gains time on this machine and this text, by the clock. Not
// the choice itself: it gathers facts of steps and asks RestChoice (whether to draft at all),
// NodeWorth (which drafts, which levels) and TrialGroup (for whom, in a trial). Engine thread only.
//
// What a drafted step has gained, in plain steps:
//
//   gain  =  accepted / n  -  (T - U) / P
//
//     n  sequences that decode          T  seconds of the whole step, from commit to commit
//     P  seconds of a plain step of n   U  what this step would have taken without drafts: P, or,
//                                          with prompts, TargetCost::undrafted
//
// Beside a model, drafts of texts rest by a choice of their own, and the model's gain is counted
// less what they would have gained without it:
//
//   gain of texts  =  accepted_t / n  -  drafts_t * row / P
//
// In a trial of one in `times` sequences, the gain of all is guessed from those:
//
//   guess  =  times * (accepted / n  -  drafts * row / P)  -  forwards for all / P

#include <functional>
#include <vector>

#include "base/index.h"
#include "draft/pace/forward_times.h"
#include "draft/pace/node_worth.h"
#include "draft/pace/rest_choice.h"
#include "draft/pace/target_cost.h"
#include "draft/pace/trial_group.h"
#include "draft/pace/usual_steps.h"
#include "draft/step_pace.h"

namespace foretoken {

class MeasuredPace : public StepPace {
 public:
  using Clock = std::function<double()>;  // seconds since some moment

  explicit MeasuredPace(Clock clock = steady_seconds);
  static double steady_seconds();

  bool rests(SeqSlot slot) const override {
    return now_.rests || (now_.is_trial && !trial_.has(slot));
  }
  bool sleeps(SeqSlot slot) const override {
    return now_.sleeps || (now_.others_sleep && slot != kNoSlot && !trial_.has(slot));
  }
  float least_score() const override { return least_score(now_.rests); }
  bool is_level_worth(int rows, double promised) const override;
  void begin_forward(DraftWork work) override { forwards_.begin(work, clock_()); }
  void end_forward(int rows) override { forwards_.end(rows, now_.times, clock_()); }

  void open(SeqSlot slot) override;
  void spare(SeqSlot slot) override { trial_.spare(slot); }
  void spare_texts(SeqSlot slot) override { slots_[at(slot)].has_texts = false; }
  void credit_texts(SeqSlot slot, int drafts, int accepted) override;
  void observe(const CommittedRows& rows) override;
  void plant(SeqSlot slot, double promised) override;
  void end_growth() override { grown_ = clock_(); }
  DraftPace& texts() override { return texts_; }

 private:
  // What drafters ask that run no model.
  class Texts final : public DraftPace {
   public:
    explicit Texts(const MeasuredPace& pace) : pace_(pace) {}
    bool rests(SeqSlot) const override { return pace_.now_.texts_rest; }
    float least_score() const override { return pace_.least_score(pace_.now_.texts_rest); }

   private:
    const MeasuredPace& pace_;
  };

  struct Slot {
    bool has_texts = false;   // there may be drafts without a model
    bool is_planted = false;  // a tree of it is being verified
    double promised = 0;      // by that
  };
  // What a step computed for sequences that decode, or for some of them.
  struct Decoded {
    int sequences = 0, rows = 0, tokens = 0;
    int drafts() const { return rows - sequences; }
    int accepted() const { return tokens - sequences; }
  };
  // The step that is told.
  struct Facts {
    Decoded all, tried;  // tried: of the trial's sequences
    bool has_drafts = false;
    bool has_prompts = false;
    int batch_rows = 0;
    double seconds = 0;    // from commit to commit
    double verifying = 0;  // of them, the target's
  };
  // Drafts of the trees that are being verified that would be there without a model.
  struct Credit {
    int drafts = 0, accepted = 0;
  };
  // Until the next step.
  struct Answers {
    bool rests = false, sleeps = false, texts_rest = false;
    bool is_trial = false;      // all rest that are not in the trial
    bool others_sleep = false;  // than those in the trial
    double times = 1;           // sequences for each in the trial
  };
  // Steps since somebody slept.
  class Wakefulness {
   public:
    void add_step(bool sleeps);
    bool is_waking() const;

   private:
    int steps_ = 1 << 16;
  };

  Facts facts_of(const CommittedRows& rows, double now);
  void learn_costs(const Facts& step);
  void learn_gain(const Facts& step);
  double gain(const Facts& step);
  double gain_of_texts(const Facts& step) const;
  double guess(const Facts& step, double times, double row_seconds, double forwards) const;
  void choose(const StepPlan& plan);
  bool may_have_texts(const StepPlan& plan) const;
  float least_score(bool rests) const { return rests ? worth_.break_even() : worth_.least_score(); }

  const Clock clock_;
  // What work costs and brings.
  TargetCost target_;
  ForwardTimes forwards_;
  UsualSteps usual_;
  double owed_ = 0;  // seconds of prompts that the draft model read, of which steps pay parts
  NodeWorth worth_;
  // Whether and for whom.
  RestChoice rest_{true};    // of the draft model
  RestChoice texts_choice_;  // of what drafts without one
  TrialGroup trial_;
  Wakefulness all_, others_;  // others: than those in the trial
  Answers now_;
  Texts texts_{*this};
  // Of the trees that are being verified.
  std::vector<Slot> slots_;
  Credit credit_;
  double observed_ = 0;  // when the step before was complete; 0: there was none
  double grown_ = 0;     // when its trees were complete
};

}  // namespace foretoken
