#include "draft/pace/measured_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kMemory = 50;       // steps in means
constexpr double kOutlier = 1.5;  // a step counts as at most so many usual ones
// Steps of a rest before something is drafted again, in which what was said is kept, so that there
// is something to go on from.
constexpr int kWaking = kCatchUpTokens;

}  // namespace

double MeasuredPace::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

MeasuredPace::MeasuredPace(Clock clock) : clock_(std::move(clock)) {}

void MeasuredPace::open(SeqSlot slot) {
  if (drafted_.size() <= at(slot)) {
    drafted_.resize(at(slot) + 1);
    has_texts_.resize(at(slot) + 1);
  }
  drafted_[at(slot)] = {};
  has_texts_[at(slot)] = 1;
  group_.open(slot);
}

void MeasuredPace::observe(const CommittedRows& rows) {
  const double now = clock_();
  const Decoded decoded = count(rows);
  // Before a step in which nobody decodes the engine may have been idle.
  if (decoded.sequences > 0 && observed_ > 0) {
    learn_costs(decoded, rows, now - grown_);
    if (target().of(decoded.sequences) > 0) learn_gain(decoded, now - observed_);
  }
  choose(rows.plan);
  observed_ = grown_ = now;
  took_ = of_all_ = {};
  was_asked_ = false;
  credited_drafts_ = credited_accepted_ = 0;
}

// The target took so long.
void MeasuredPace::learn_costs(const Decoded& decoded, const CommittedRows& rows, double seconds) {
  has_prompts_ = decoded.sequences < static_cast<int>(rows.plan.entries.size());
  batch_rows_ = rows.batch.rows;
  verifying_ = seconds;
  if (!has_prompts_)
    step_.add(batch_rows_, seconds);
  else if (!was_asked_ && !decoded.is_planted)
    mixed_.add(batch_rows_, seconds);
}

// A model that was asked has cost something, be it that no draft was worth a row.
void MeasuredPace::learn_gain(const Decoded& decoded, double seconds) {
  if (!was_asked_) {
    if (decoded.is_planted) texts_choice_.add_gain(gain(decoded, seconds));
  } else if (!others_rest_) {
    rest_.add_gain(gain(decoded, seconds) - gain_of_texts(decoded));
  } else {
    rest_.add_guess(guess(decoded, times_, target().least_per_row(), of_all_),
                    guess(decoded, 1, target().per_row(), took_));
  }
}

// Who drafts in the next step, and what that costs.
void MeasuredPace::choose(const StepPlan& plan) {
  const int next = std::max(1, static_cast<int>(plan.entries.size()));
  const bool may_ask = !group_.spares_all(plan);
  texts_choice_.add_step(next, may_have_texts(plan));
  if (rest_.add_step(next, may_ask)) asked_ = unasked_ = drafted_steps_ = {};
  const auto count_awake = [](int steps, bool sleeps) {
    return sleeps ? 0 : steps + (steps < kWaking ? 1 : 0);
  };
  sleeps_ = rest_.steps_left() > kWaking;
  group_.choose(plan, sleeps_ ? 0 : rest_.few());
  const bool is_few = group_.size() > 0;
  times_ = is_few ? std::max(1.0, static_cast<double>(next) / group_.size()) : 1;
  others_sleep_ = sleeps_ || (is_few && rest_.has_rested());
  awake_ = count_awake(awake_, sleeps_);
  others_awake_ = count_awake(others_awake_, others_sleep_);
  rests_ = rest_.rests() || awake_ < kWaking || (!is_few && others_awake_ < kWaking);
  others_rest_ = is_few;
  // To know what that takes.
  const bool is_plain = may_ask && rest_.rests() && rest_.steps_left() == 0;
  texts_rest_ = texts_choice_.rests() || is_plain;
  const UsualStep& all = drafted_steps_;
  const double token = all.steps > 0 ? all.seconds / all.tokens : target().of(next) / next;
  worth_.set_costs(target().per_row(), token);
}

bool MeasuredPace::may_have_texts(const StepPlan& plan) const {
  return std::ranges::any_of(
      plan.entries, [this](const StepEntry& entry) { return has_texts_[at(entry.slot)] != 0; });
}

MeasuredPace::Decoded MeasuredPace::count(const CommittedRows& rows) {
  Decoded decoded;
  tried_ = {};
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const StepEntry& entry = rows.plan.entries[i];
    if (!entry.has_tree || !entry.chain.empty() || entry.generated == 0) continue;
    const WalkSeq& seq = rows.walk.seqs[i];
    const int tokens = static_cast<int>(seq.path.size());
    const auto add_to = [&](Decoded& sum) {
      ++sum.sequences;
      sum.rows += rows.batch.seqs[i].rows;
      sum.tokens += tokens;
    };
    add_to(decoded);
    if (group_.has(seq.slot)) add_to(tried_);
    const Drafted drafted = std::exchange(drafted_[at(seq.slot)], {});
    if (!drafted.is_planted) continue;
    decoded.is_planted = true;
    worth_.add_outcome(drafted.promised, tokens - 1);
  }
  return decoded;
}

// What the step would have taken without drafts. Of one that computes prompts, too, that is not
// seen: it is what others took that had as many rows, or this one less its drafts' rows, if less.
double MeasuredPace::undrafted(const Decoded& decoded) const {
  const double plain = target().of(decoded.sequences);
  if (!has_prompts_) return plain;
  const double less = verifying_ - decoded.drafts() * target().per_row();
  const double like = mixed_.of(batch_rows_ - decoded.drafts());
  return std::max(plain, like > 0 ? std::min(like, less) : less);
}

// In plain steps: what tokens save, less what the step took longer than without drafts.
double MeasuredPace::gain(const Decoded& decoded, double seconds) {
  const double plain = target().of(decoded.sequences);
  UsualStep& like = was_asked_ ? asked_ : unasked_;
  if (!has_prompts_) {
    if (like.steps > 0) seconds = std::min(seconds, kOutlier * like.seconds);
    for (UsualStep* usual : {&like, &drafted_steps_}) {
      usual->steps = std::min(usual->steps + 1, kMemory);
      usual->seconds += (seconds - usual->seconds) / usual->steps;
      usual->tokens += (decoded.tokens - usual->tokens) / usual->steps;
    }
  }
  const double tokens = static_cast<double>(decoded.accepted()) / decoded.sequences;
  return tokens - (seconds - undrafted(decoded)) / plain;
}

// What they would have gained without the model. How long their rows take is not seen apart from
// the model's; it is fitted.
double MeasuredPace::gain_of_texts(const Decoded& decoded) const {
  const double row = target().per_row() / target().of(decoded.sequences);
  return credited_accepted_ / static_cast<double>(decoded.sequences) - credited_drafts_ * row;
}

// What the group's drafts would have gained so many times, by what a row and the draft model cost.
double MeasuredPace::guess(const Decoded& decoded, double times, double row_seconds,
                           const Work& work) const {
  const double plain = target().of(decoded.sequences);
  const double accepted = tried_.accepted() - credited_accepted_;
  const double drafts = tried_.drafts() - credited_drafts_;
  const double tokens = accepted / decoded.sequences;
  return times * (tokens - drafts * row_seconds / plain) - (work.reading + work.growing) / plain;
}

void MeasuredPace::credit_texts(SeqSlot slot, int drafts, int accepted) {
  if (others_rest_ && !group_.has(slot)) return;
  credited_drafts_ += drafts;
  credited_accepted_ += accepted;
}

void MeasuredPace::begin_forward(DraftWork work) {
  work_ = work;
  work_begin_ = clock_();
}

void MeasuredPace::end_forward(int rows) {
  const double seconds = clock_() - work_begin_;
  LinearCost& cost = forward_[static_cast<std::size_t>(work_)];
  cost.add(rows, seconds);
  const auto all_rows = static_cast<int>(rows * times_);
  const double of_all = times_ > 1 ? seconds * cost.of(all_rows) / cost.of(rows) : seconds;
  const bool is_reading = work_ == DraftWork::kReading;
  (is_reading ? took_.reading : took_.growing) += seconds;
  (is_reading ? of_all_.reading : of_all_.growing) += of_all;
  if (!is_reading) was_asked_ = true;
}

// Of few, a level is what it would be of all.
bool MeasuredPace::is_level_worth(int rows, double promised) const {
  const LinearCost& level = forward_[static_cast<std::size_t>(DraftWork::kLevel)];
  return worth_.is_level_worth(promised * times_, level.of(static_cast<int>(rows * times_)));
}

void MeasuredPace::plant(SeqSlot slot, double promised) { drafted_[at(slot)] = {true, promised}; }

void MeasuredPace::end_growth() { grown_ = clock_(); }

}  // namespace foretoken
