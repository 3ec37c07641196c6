#include "spec/measured_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr double kNews = 0.02;  // share of a tree in the means over trees

}  // namespace

double MeasuredPace::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

MeasuredPace::MeasuredPace(Clock clock) : clock_(std::move(clock)) {}

void MeasuredPace::open(SeqSlot slot) {
  if (drafted_.size() <= at(slot)) drafted_.resize(at(slot) + 1);
  drafted_[at(slot)] = {};
  rest_.open(slot);
}

// Steps with prompts in them say nothing about the rows of trees; before one, the engine may have
// been idle.
void MeasuredPace::observe(const CommittedRows& rows) {
  const auto continues = [](const StepEntry& entry) {
    return entry.has_tree && entry.chain.empty() && entry.generated > 0;
  };
  const auto sequences = static_cast<int>(std::ranges::count_if(rows.plan.entries, continues));
  if (grown_ > 0 && sequences == static_cast<int>(rows.plan.entries.size()))
    step_.add(rows.batch.rows, clock_() - grown_);
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i)
    if (continues(rows.plan.entries[i])) count(rows, i, sequences);
  rest_.add_step();
  const int next = std::max(1, static_cast<int>(rows.plan.entries.size()));
  worth_.set_costs(step_.per_row(), (plain_seconds(next) + usual_cost_) / (1 + usual_accepted_));
  forwards_ = 0;
  grown_ = 0;
}

// Of a plain step for each of its sequences.
double MeasuredPace::plain_seconds(int sequences) const {
  return step_.fixed() / sequences + step_.per_row();
}

void MeasuredPace::count(const CommittedRows& rows, std::size_t i, int sequences) {
  const WalkSeq& seq = rows.walk.seqs[i];
  const Drafted drafted = std::exchange(drafted_[at(seq.slot)], {});
  if (!drafted.is_planted) return;
  const int committed = static_cast<int>(seq.path.size()), accepted = committed - 1;
  worth_.add_outcome(drafted.promised, accepted);
  const double plain = plain_seconds(sequences);
  if (plain == 0) return;
  const double seconds = cost(drafted, rows.batch.seqs[i].rows, committed, sequences);
  usual_cost_ += kNews * (seconds - usual_cost_);
  usual_accepted_ += kNews * (accepted - usual_accepted_);
  // A step that computes prompts is needed anyway: a token saves its row there, not the step.
  const bool has_prompts = sequences < static_cast<int>(rows.plan.entries.size());
  const double saved = has_prompts ? step_.per_row() : plain;
  rest_.add_gain(seq.slot, (accepted * saved - seconds) / plain);
}

// Seconds that drafting for one sequence added to the step, if it was done for all of them.
double MeasuredPace::cost(const Drafted& drafted, int nodes, int read_rows, int sequences) const {
  return step_.per_row() * (nodes - 1) + forward_.per_row() * (read_rows + drafted.level_rows) +
         forward_.fixed() * forwards_ / sequences;
}

void MeasuredPace::begin_forward() { forward_begin_ = clock_(); }

void MeasuredPace::end_forward(int rows) {
  forward_.add(rows, clock_() - forward_begin_);
  ++forwards_;
}

bool MeasuredPace::is_level_worth(int rows, double promised) const {
  return worth_.is_level_worth(promised, forward_.fixed() + forward_.per_row() * rows);
}

void MeasuredPace::plant(SeqSlot slot, double promised, int level_rows) {
  drafted_[at(slot)] = {true, promised, level_rows};
}

void MeasuredPace::end_growth() { grown_ = clock_(); }

}  // namespace foretoken
