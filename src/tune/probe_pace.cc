#include "tune/probe_pace.h"

#include <algorithm>
#include <array>
#include <utility>

namespace foretoken {

ProbePace::ProbePace(int steps, std::uint64_t seed, MeasuredPace::Clock clock)
    : steps_(steps), random_(seed), clock_(std::move(clock)) {}

void ProbePace::set_plain(bool is_plain) {
  is_plain_ = is_plain;
  grown_ = 0;
}

StepCosts ProbePace::take_costs() {
  StepCosts costs = std::exchange(costs_, {});
  costs.plain.fit();
  costs.target.fit();
  for (const PromptStep& step : std::exchange(prompt_steps_, {})) {
    const CostCurve& without = step.is_plain ? costs.plain : costs.target;
    const double seconds = step.seconds - without.of(std::max(step.tree_rows, 1));
    if (!without.empty() && seconds > 0) costs.prompt.add(step.chain_rows, seconds);
  }
  costs.fit();
  samples_ = 0;
  return costs;
}

void ProbePace::observe(const CommittedRows& rows) {
  const double now = clock_();
  int chain_rows = 0;
  for (const BatchSeq& seq : rows.batch.seqs) chain_rows += seq.chain;
  const int tree_rows = rows.batch.rows - chain_rows;
  if (grown_ > 0 && chain_rows > 0)
    prompt_steps_.push_back({tree_rows, chain_rows, now - grown_, is_plain_});
  else if (grown_ > 0)
    (is_plain_ ? costs_.plain : costs_.target).add(tree_rows, now - grown_);
  if (grown_ > 0) ++samples_;
  observed_ = now;
  sequences_ = static_cast<int>(rows.walk.seqs.size());
  forwards_ = 0;
  grown_ = 0;
  is_drafting_ = false;
  if (now >= cut_until_) choose_cut(now);
  levels_left_ = levels_;
}

void ProbePace::choose_cut(double now) {
  constexpr std::array<float, 8> kLeast{0.02F, 0.04F, 0.08F, 0.15F, 0.25F, 0.4F, 0.6F, 0.8F};
  constexpr unsigned kWholeTrees = 24;  // one cut in so many: they take long
  constexpr double kStays = 0.08;       // seconds: many steps of a small model, one of a large
  least_score_ = random_() % kWholeTrees == 0 ? 0 : kLeast[random_() % kLeast.size()];
  levels_ = static_cast<int>(random_() % static_cast<unsigned>(std::max(steps_, 1)));
  cut_until_ = now + kStays;
}

void ProbePace::begin_forward(DraftWork work) {
  work_ = work;
  work_begin_ = clock_();
  is_drafting_ |= work != DraftWork::kReading;
  if (work == DraftWork::kLevel) --levels_left_;
}

void ProbePace::end_forward(int rows) {
  const double seconds = clock_() - work_begin_;
  forwards_ += seconds;
  CostCurve& curve = work_ == DraftWork::kReading ? costs_.reading
                     : work_ == DraftWork::kRoots ? costs_.roots
                                                  : costs_.level;
  if (rows > 0) curve.add(rows, seconds);
}

bool ProbePace::is_level_worth(int, double) const { return levels_left_ > 0; }

void ProbePace::end_growth() {
  grown_ = clock_();
  if (!is_plain_ && observed_ > 0 && is_drafting_)
    costs_.rest.add(std::max(sequences_, 1), std::max(0.0, grown_ - observed_ - forwards_));
}

}  // namespace foretoken
