#pragma once
// MeasuredPace: drafts what pays on this machine and this text, by the clock: what steps take with
// drafts and without, what rows and levels add to them, and what became of drafts. Under load, or
// where drafts are poor, all sequences rest, which is plain decoding. What drafts without a model
// rests for itself, and a model has to bring more than is there without it. Engine thread only.

#include <functional>
#include <vector>

#include "spec/draft_pace.h"
#include "spec/linear_cost.h"
#include "spec/node_worth.h"
#include "spec/rest_choice.h"

namespace foretoken {

class MeasuredPace : public DraftPace {
 public:
  using Clock = std::function<double()>;  // seconds since some moment

  explicit MeasuredPace(Clock clock = steady_seconds);

  void open(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  bool rests(SeqSlot) const override { return rests_; }
  bool sleeps(SeqSlot) const override { return sleeps_; }
  void begin_forward(DraftWork work) override;
  void end_forward(int rows) override;
  float least_score() const override { return least_score(rests_); }
  bool is_level_worth(int rows, double promised) const override;
  void plant(SeqSlot slot, double promised, int level_rows) override;
  void end_growth() override;
  DraftPace& texts() override { return texts_; }
  void credit_texts(int drafts, int accepted) override;

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
  struct Drafted {  // a tree that is being verified
    bool is_planted = false;
    double promised = 0;
  };
  // Of the last drafted steps without prompts, means.
  struct UsualStep {
    double seconds = 0, tokens = 0;
    int steps = 0;
  };
  // What a step computed for sequences that decode.
  struct Decoded {
    int sequences = 0, rows = 0, tokens = 0;
    bool is_planted = false;  // there were drafts among the rows
  };

  Decoded count(const CommittedRows& rows);
  double gain(const Decoded& decoded, bool has_prompts, double seconds);
  double gain_of_texts(const Decoded& decoded, bool has_prompts) const;
  float least_score(bool rests) const { return rests ? worth_.break_even() : worth_.least_score(); }

  const Clock clock_;
  NodeWorth worth_;
  RestChoice rest_;               // of the draft model
  RestChoice texts_choice_;       // of what drafts without one
  LinearCost step_;               // of the target, by rows of trees
  LinearCost level_;              // of the draft model, by rows of a level
  std::vector<Drafted> drafted_;  // by slot
  bool rests_ = false, sleeps_ = false, texts_rest_ = false;
  Texts texts_{*this};
  int credited_drafts_ = 0, credited_accepted_ = 0;  // of the trees that are being verified
  int awake_ = 1 << 16;                              // steps since all slept
  // Those that the model was asked for, the others, and all.
  UsualStep asked_, unasked_, drafted_steps_;
  double observed_ = 0;  // when the step before was complete; 0: it had prompts, or there was none
  double grown_ = 0;     // when trees were complete; 0: none were
  DraftWork work_ = DraftWork::kReading;
  double work_begin_ = 0;
  double growing_ = 0;  // seconds that the draft model took for the trees that are being verified
  bool was_asked_ = false;  // it was asked for them, whether it found any
};

}  // namespace foretoken
