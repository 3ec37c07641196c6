#include "draft/pace/measured_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace foretoken {
namespace {

// Steps of a rest before something is drafted again, in which what was said is kept, so that there
// is something to go on from.
constexpr int kWaking = kCatchUpTokens;

// The draft model reads a prompt once for all of its answer, so that step pays a part only, and so do
// those that follow: one in kPayments of what is owed.
constexpr int kReadRows = 8;  // of a sequence, that are no prompt
constexpr int kPayments = 64;

}  // namespace

double MeasuredPace::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

MeasuredPace::MeasuredPace(Clock clock) : clock_(std::move(clock)) {}

void MeasuredPace::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  slots_[at(slot)] = {.has_texts = true};
  trial_.open(slot);
}

void MeasuredPace::plant(SeqSlot slot, double promised) {
  slots_[at(slot)].is_planted = true;
  slots_[at(slot)].promised = promised;
}

void MeasuredPace::credit_texts(SeqSlot slot, int drafts, int accepted) {
  if (now_.is_trial && !trial_.has(slot)) return;
  credit_.drafts += drafts;
  credit_.accepted += accepted;
}

// Of few, a level is what it would be of all.
bool MeasuredPace::is_level_worth(int rows, double promised) const {
  const double seconds = forwards_.of_level(static_cast<int>(rows * now_.times));
  return worth_.is_level_worth(promised * now_.times, seconds);
}

// ---- what is told

void MeasuredPace::observe(const CommittedRows& rows) {
  const double now = clock_();
  const Facts step = facts_of(rows, now);
  // Before a step in which nobody decodes the engine may have been idle.
  if (step.all.sequences > 0 && observed_ > 0) {
    learn_costs(step);
    if (target_.plain(step.all.sequences) > 0) learn_gain(step);
  }
  choose(rows.plan);
  observed_ = grown_ = now;
  forwards_.start_step();
  credit_ = {};
}

MeasuredPace::Facts MeasuredPace::facts_of(const CommittedRows& rows, double now) {
  Facts step{.all = {},
             .tried = {},
             .batch_rows = rows.batch.rows,
             .seconds = now - observed_,
             .verifying = now - grown_};
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
    add_to(step.all);
    if (trial_.has(seq.slot)) add_to(step.tried);
    Slot& slot = slots_[at(seq.slot)];
    if (!std::exchange(slot.is_planted, false)) continue;
    step.has_drafts = true;
    worth_.add_outcome(slot.promised, tokens - 1);
  }
  step.has_prompts = step.all.sequences < static_cast<int>(rows.plan.entries.size());
  return step;
}

void MeasuredPace::learn_costs(const Facts& step) {
  if (!step.has_prompts)
    target_.add(step.batch_rows, step.verifying);
  else if (!forwards_.was_asked() && !step.has_drafts)
    target_.add_with_prompts(step.batch_rows, step.verifying);
}

// A model that was asked has cost something, even where no draft was worth a row.
void MeasuredPace::learn_gain(const Facts& step) {
  if (!forwards_.was_asked()) {
    if (step.has_drafts) texts_choice_.add_gain(gain(step));
  } else if (!now_.is_trial) {
    const double paid = owed_ / kPayments;
    owed_ -= paid;
    rest_.add_gain(gain(step) - gain_of_texts(step) - paid / target_.plain(step.all.sequences));
  } else {
    const double least_row = target_.trees().least_per_row();
    rest_.add_guess(guess(step, now_.times, least_row, forwards_.of_all().sum()),
                    guess(step, 1, target_.row(), forwards_.took().sum()));
  }
}

double MeasuredPace::gain(const Facts& step) {
  const int sequences = step.all.sequences;
  const double plain = target_.plain(sequences);
  const double once = forwards_.reading_beyond(kReadRows * sequences);
  owed_ += once;
  double seconds = step.seconds - once, undrafted = plain;
  if (step.has_prompts)
    undrafted = target_.undrafted(step.batch_rows, step.all.drafts(), sequences, step.verifying);
  else
    seconds = usual_.add(forwards_.was_asked(), seconds, step.all.tokens);
  const double tokens = static_cast<double>(step.all.accepted()) / sequences;
  return tokens - (seconds - undrafted) / plain;
}

// How long their rows take is not seen apart from the model's; it is fitted.
double MeasuredPace::gain_of_texts(const Facts& step) const {
  const double row = target_.row() / target_.plain(step.all.sequences);
  return credit_.accepted / static_cast<double>(step.all.sequences) - credit_.drafts * row;
}

double MeasuredPace::guess(const Facts& step, double times, double row_seconds,
                           double forwards) const {
  const double plain = target_.plain(step.all.sequences);
  const double accepted = step.tried.accepted() - credit_.accepted;
  const double drafts = step.tried.drafts() - credit_.drafts;
  const double tokens = accepted / step.all.sequences;
  return times * (tokens - drafts * row_seconds / plain) - forwards / plain;
}

// ---- who drafts in the next step, and what that costs

void MeasuredPace::choose(const StepPlan& plan) {
  const int next = std::max(1, static_cast<int>(plan.entries.size()));
  const bool may_ask = !trial_.spares_all(plan);
  texts_choice_.add_step(next, may_have_texts(plan));
  if (rest_.add_step(next, may_ask)) usual_.clear();
  now_.sleeps = rest_.steps_left() > kWaking;
  trial_.choose(plan, now_.sleeps ? 0 : rest_.few());
  now_.is_trial = trial_.size() > 0;
  now_.times = now_.is_trial ? std::max(1.0, static_cast<double>(next) / trial_.size()) : 1;
  now_.others_sleep = now_.sleeps || (now_.is_trial && rest_.has_rested());
  all_.add_step(now_.sleeps);
  others_.add_step(now_.others_sleep);
  now_.rests = rest_.rests() || all_.is_waking() || (!now_.is_trial && others_.is_waking());
  // To know what that takes.
  const bool is_plain = may_ask && rest_.rests() && rest_.steps_left() == 0;
  now_.texts_rest = texts_choice_.rests() || is_plain;
  const double token = usual_.is_known() ? usual_.token_seconds() : target_.plain(next) / next;
  worth_.set_costs(target_.row(), token);
}

bool MeasuredPace::may_have_texts(const StepPlan& plan) const {
  return std::ranges::any_of(
      plan.entries, [this](const StepEntry& entry) { return slots_[at(entry.slot)].has_texts; });
}

void MeasuredPace::Wakefulness::add_step(bool sleeps) {
  steps_ = sleeps ? 0 : steps_ + (steps_ < kWaking ? 1 : 0);
}

bool MeasuredPace::Wakefulness::is_waking() const { return steps_ < kWaking; }

}  // namespace foretoken
