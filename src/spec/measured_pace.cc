#include "spec/measured_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/index.h"
#include "spec/draft_reader.h"

namespace foretoken {
namespace {

constexpr int kMemory = 50;       // steps in means
constexpr double kOutlier = 1.5;  // a step counts as at most so many usual ones
// Steps of a rest before something is drafted again, in which what was said is kept, so that there
// is something to go on from.
constexpr int kWaking = DraftReader::kKept;

}  // namespace

double MeasuredPace::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

MeasuredPace::MeasuredPace(Clock clock) : clock_(std::move(clock)) {}

void MeasuredPace::open(SeqSlot slot) {
  if (drafted_.size() <= at(slot)) drafted_.resize(at(slot) + 1);
  drafted_[at(slot)] = {};
}

// Steps with prompts in them say nothing about the rows of trees; before one, the engine may have
// been idle.
void MeasuredPace::observe(const CommittedRows& rows) {
  const double now = clock_();
  const Decoded decoded = count(rows);
  const bool has_prompts = decoded.sequences < static_cast<int>(rows.plan.entries.size());
  if (grown_ > 0 && !has_prompts) step_.add(rows.batch.rows, now - grown_);
  if (decoded.sequences > 0 && (has_prompts || observed_ > 0) && step_.of(decoded.sequences) > 0) {
    // A model that was asked has cost something, be it that no draft was worth a row.
    if (was_asked_)
      rest_.add_gain(gain(decoded, has_prompts, now - observed_) -
                     gain_of_texts(decoded, has_prompts));
    else if (decoded.is_planted)
      texts_choice_.add_gain(gain(decoded, has_prompts, now - observed_));
  }
  const int next = std::max(1, static_cast<int>(rows.plan.entries.size()));
  texts_choice_.add_step(next);
  if (rest_.add_step(next)) asked_ = unasked_ = drafted_steps_ = {};
  sleeps_ = rest_.steps_left() > kWaking;
  awake_ = sleeps_ ? 0 : awake_ + (awake_ < kWaking ? 1 : 0);
  rests_ = rest_.rests() || awake_ < kWaking;
  const bool is_plain = rest_.rests() && rest_.steps_left() == 0;  // to know what that takes
  texts_rest_ = texts_choice_.rests() || is_plain;
  const UsualStep& all = drafted_steps_;
  const double token = all.steps > 0 ? all.seconds / all.tokens : step_.of(next) / next;
  worth_.set_costs(step_.per_row(), token);
  observed_ = has_prompts ? 0 : now;
  growing_ = grown_ = 0;
  was_asked_ = false;
  credited_drafts_ = credited_accepted_ = 0;
}

MeasuredPace::Decoded MeasuredPace::count(const CommittedRows& rows) {
  Decoded decoded;
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const StepEntry& entry = rows.plan.entries[i];
    if (!entry.has_tree || !entry.chain.empty() || entry.generated == 0) continue;
    const WalkSeq& seq = rows.walk.seqs[i];
    const int tokens = static_cast<int>(seq.path.size());
    ++decoded.sequences;
    decoded.rows += rows.batch.seqs[i].rows;
    decoded.tokens += tokens;
    const Drafted drafted = std::exchange(drafted_[at(seq.slot)], {});
    if (!drafted.is_planted) continue;
    decoded.is_planted = true;
    worth_.add_outcome(drafted.promised, tokens - 1);
  }
  return decoded;
}

// In plain steps. A step that computes prompts is needed anyway: a token saves its row there, not
// the step.
double MeasuredPace::gain(const Decoded& decoded, bool has_prompts, double seconds) {
  const double plain = step_.of(decoded.sequences);
  if (has_prompts) {
    const int accepted = decoded.tokens - decoded.sequences;
    const int drafts = decoded.rows - decoded.sequences;
    return ((accepted - drafts) * step_.per_row() - growing_) / plain;
  }
  UsualStep& like = was_asked_ ? asked_ : unasked_;
  if (like.steps > 0) seconds = std::min(seconds, kOutlier * like.seconds);
  for (UsualStep* usual : {&like, &drafted_steps_}) {
    usual->steps = std::min(usual->steps + 1, kMemory);
    usual->seconds += (seconds - usual->seconds) / usual->steps;
    usual->tokens += (decoded.tokens - usual->tokens) / usual->steps;
  }
  return static_cast<double>(decoded.tokens) / decoded.sequences - seconds / plain;
}

// What they would have gained without the model. How long their rows take is not seen apart from
// the model's; it is fitted.
double MeasuredPace::gain_of_texts(const Decoded& decoded, bool has_prompts) const {
  const double row = step_.per_row() / step_.of(decoded.sequences);
  const double token = has_prompts ? row : 1.0 / decoded.sequences;
  return credited_accepted_ * token - credited_drafts_ * row;
}

void MeasuredPace::credit_texts(int drafts, int accepted) {
  credited_drafts_ += drafts;
  credited_accepted_ += accepted;
}

void MeasuredPace::begin_forward(DraftWork work) {
  work_ = work;
  work_begin_ = clock_();
}

void MeasuredPace::end_forward(int rows) {
  const double seconds = clock_() - work_begin_;
  if (work_ == DraftWork::kLevel) level_.add(rows, seconds);
  if (work_ == DraftWork::kReading) return;
  growing_ += seconds;
  was_asked_ = true;
}

bool MeasuredPace::is_level_worth(int rows, double promised) const {
  return worth_.is_level_worth(promised, level_.of(rows));
}

void MeasuredPace::plant(SeqSlot slot, double promised, int level_rows) {
  (void)level_rows;
  drafted_[at(slot)] = {true, promised};
}

void MeasuredPace::end_growth() { grown_ = clock_(); }

}  // namespace foretoken
