#include "draft/pace/rest_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kMost = 512;  // values that a mean remembers
constexpr int kFew = 8;     // values that may contradict it
// Standard deviations of a mean of few that are no chance.
constexpr double kSureDeviations = 3;

constexpr int kTrial = 8;                                 // drafted steps
constexpr double kEnough = 4;                             // lost in a trial that is cut short
constexpr double kMostLost = 3;                           // of that by one step
constexpr double kMostPaid = 16;                          // by one step, as pauses take it
constexpr double kMostLoss = -1;                          // of one step, as the mean takes it
constexpr double kTrialShare = 0.01;                      // of all steps, that trials may lose
constexpr int kShortestPause = 64, kLongestPause = 4096;  // steps
constexpr int kFirstSounding = 2, kSoundings = 128;       // steps
constexpr int kMany = 16;                                 // sequences, of which few are tried first
constexpr int kShare = 8, kLeast = 4;                     // one of so many, and not fewer
constexpr int kLeastGuesses = 3;                          // steps until the few say anything

// Plain steps of what is drafted. At first they come soon, after twice as many steps each: one that
// was slow, or had prompts in it, must not be all that is known of plain decoding.
bool is_sounding(int step, bool is_new) {
  if (step % kSoundings == kFirstSounding) return true;
  return is_new && step > kFirstSounding && step < kSoundings &&
         std::has_single_bit(static_cast<unsigned>(step + kFirstSounding));
}

}  // namespace

void CurrentMean::add(double value) {
  count_ = std::min(count_ + 1, kMost);
  const double off = value - mean_;
  mean_ += off / count_;
  variance_ += (off * (value - mean_) - variance_) / count_;
  recent_ += (value - recent_) / std::min(count_, kFew);
  const double chance = std::sqrt(variance_ / (2 * kFew - 1));
  if (count_ < 2 * kFew || std::abs(recent_ - mean_) <= kSureDeviations * chance) return;
  count_ = kFew;
  mean_ = recent_;
}

void CurrentMean::doubt() { count_ = std::min(count_, kFew); }

double CurrentMean::error() const { return count_ > 0 ? std::sqrt(variance_ / count_) : 0; }

bool RestChoice::add_step(int sequences, bool counts) {
  const std::size_t before = now_;
  now_ = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(std::max(sequences, 1))));
  if (loads_.size() <= now_) loads_.resize(now_ + 1);
  sequences_ = sequences;
  Load& load = loads_[now_];
  if (!load.is_known && load.steps == 0) begin(now_);
  if (!counts) return now_ != before;
  ++load.steps;
  if (!load.rests || load.steps < load.pause) return now_ != before;
  load.rests = false;
  load.steps = load.drafted = 0;
  load.lost = load.paid = 0;
  load.guess = {};
  load.gain.doubt();
  return now_ != before;
}

void RestChoice::begin(std::size_t load) {
  loads_[load].tries_few = begins_with_few_ && sequences_ >= kMany;
  for (std::size_t fewer = load; fewer-- > 0;) {
    if (!loads_[fewer].is_known) continue;
    loads_[load].rests = loads_[fewer].rests;
    loads_[load].pause = loads_[fewer].pause;
    return;
  }
}

bool RestChoice::rests() const {
  if (loads_.size() <= now_) return false;
  const Load& load = loads_[now_];
  return load.rests || is_sounding(load.steps, load.pause == 0);
}

int RestChoice::steps_left() const {
  if (loads_.size() <= now_ || !loads_[now_].rests) return 0;
  return loads_[now_].pause - loads_[now_].steps;
}

int RestChoice::few() const {
  if (loads_.size() <= now_ || !loads_[now_].tries_few) return 0;
  return std::max(kLeast, sequences_ / kShare);
}

bool RestChoice::has_rested() const { return loads_.size() > now_ && loads_[now_].pause > 0; }

void RestChoice::add_gain(double steps) {
  if (loads_.size() <= now_) return;
  Load& load = loads_[now_];
  load.is_known = true;
  load.gain.add(std::max(kMostLoss, steps));
  load.lost += std::min(kMostLost, -steps);
  load.paid += std::min(kMostPaid, -steps);
  ++load.drafted;
  const bool is_loss = load.drafted >= kTrial && load.gain.mean() + load.gain.error() < 0;
  const bool is_cut = load.drafted >= 2 && load.drafted < kTrial && load.lost > kEnough;
  if (is_loss || is_cut) rest(load);
}

// A guess need not be exact to tell a clear loss.
void RestChoice::add_guess(double of_all, double of_few) {
  if (few() == 0) return;
  Load& load = loads_[now_];
  load.is_known = true;
  load.guess.add(of_all);
  load.paid -= of_few;
  ++load.drafted;
  const double mean = load.guess.mean(), error = load.guess.error();
  if (load.drafted < kLeastGuesses) return;
  if (mean + 2 * error < 0) return rest(load);
  if (load.drafted < kTrial && mean - error < 0) return;
  load.tries_few = false;
  load.drafted = 0;
  load.lost = 0;
}

void RestChoice::rest(Load& load) {
  // What the next trial will lose, if it goes like this one.
  const double trial = load.paid * std::min(load.drafted, kTrial) / load.drafted;
  const double pause = std::clamp<double>(trial / kTrialShare, kShortestPause, kLongestPause);
  load.pause = static_cast<int>(pause);
  load.rests = true;
  load.tries_few = begins_with_few_ && sequences_ >= kMany;
  load.steps = 0;
}

}  // namespace foretoken
