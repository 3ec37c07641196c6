#include "engine/testing/erratic_pace.h"

namespace foretoken {
namespace {

constexpr int kStretches[] = {1, 2, 5, 16, 40};  // steps
constexpr float kScores[] = {0.0F, 0.0F, 1e-4F, 0.1F, 0.4F};
constexpr int kRows[] = {0, 1, 4, 1000};

}  // namespace

void ErraticPace::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  slots_[at(slot)] = {};
}

void ErraticPace::observe(const CommittedRows& rows) {
  least_score_ = kScores[random_() % std::size(kScores)];
  most_rows_ = kRows[random_() % std::size(kRows)];
  all_sleep_ = random_() % (all_sleep_ ? 4 : 20) != 0 ? all_sleep_ : !all_sleep_;
  for (const StepEntry& entry : rows.plan.entries) {
    Slot& slot = slots_[at(entry.slot)];
    if (--slot.steps_left > 0) continue;
    slot.rests = random_() % 2 == 0;
    slot.sleeps = slot.rests && random_() % 3 == 0;
    slot.steps_left = kStretches[random_() % std::size(kStretches)];
  }
}

bool ErraticPace::is_level_worth(int rows, double) const { return rows <= most_rows_; }

}  // namespace foretoken
