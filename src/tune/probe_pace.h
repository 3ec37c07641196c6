#pragma once
// ProbePace: a pace that measures what steps and drafts take instead of deciding what pays: trees
// are cut at random depths and scores, so that batches and levels of all sizes come by. A cut stays
// for a while: caches and clocks of processors remember, and a large step among large ones takes
// longer than one among small ones. In plain mode everybody sleeps, which is plain decoding. Engine
// thread only, but set_plain() and take_costs(), which are for when the engine is idle.

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "draft/pace/measured_pace.h"
#include "draft/step_pace.h"
#include "tune/step_costs.h"

namespace foretoken {

class ProbePace final : public StepPace {
 public:
  explicit ProbePace(int steps, std::uint64_t seed = 1,
                     MeasuredPace::Clock clock = MeasuredPace::steady_seconds);

  // Whether drafts are made from now on. What was measured so far stays.
  void set_plain(bool is_plain);
  // Everything since the last call, fitted.
  StepCosts take_costs();
  // Steps measured since the last call, so far.
  int samples() const { return samples_; }

  void observe(const CommittedRows& rows) override;
  bool rests(SeqSlot) const override { return is_plain_; }
  bool sleeps(SeqSlot) const override { return is_plain_; }
  void begin_forward(DraftWork work) override;
  void end_forward(int rows) override;
  float least_score() const override { return least_score_; }
  bool is_level_worth(int rows, double promised) const override;
  void end_growth() override;

 private:
  struct PromptStep {
    int tree_rows, chain_rows;
    double seconds;
    bool is_plain;
  };
  void choose_cut(double now);

  const int steps_;
  std::mt19937_64 random_;
  const MeasuredPace::Clock clock_;
  StepCosts costs_;
  std::vector<PromptStep> prompt_steps_;
  int samples_ = 0;

  bool is_plain_ = false;
  float least_score_ = 0;
  int levels_ = 0;       // below the roots, while the cut stays
  int levels_left_ = 0;  // of the step
  double cut_until_ = 0;
  double grown_ = 0;     // when the trees of the step were complete; 0: unknown
  double observed_ = 0;  // when the step was
  int sequences_ = 0;    // in it
  DraftWork work_ = DraftWork::kReading;
  double work_begin_ = 0;
  double forwards_ = 0;  // seconds since it was observed
  bool is_drafting_ = false;
};

}  // namespace foretoken
