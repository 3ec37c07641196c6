#pragma once
// DraftPace: what a drafter asks before it works: which sequences it drafts for, which drafts are
// worth a row of the target, how many levels a tree gets. A drafter also says here when its model
// computes. This one lets drafters do all they may; StepPace is the one that is told what became of
// drafts. Answers change speed only. Engine thread only.

#include <cstdint>
#include <span>

#include "base/types.h"

namespace foretoken {

// What the draft model computes: hidden states of what was committed, candidates below roots, or
// both of a level.
enum class DraftWork { kReading, kRoots, kLevel };

inline constexpr SeqSlot kNoSlot = -1;

// Tokens that a sequence which has rested catches up with: enough to guess as well as before, few
// enough that waking a whole batch is no pause. At least a page, so that whole pages are read.
inline constexpr std::int32_t kCatchUpTokens = 32;
static_assert(kCatchUpTokens >= 2 * kPageTokens);

class DraftPace {
 public:
  virtual ~DraftPace() = default;

  // Whether, until the next step, nothing is drafted for the slot.
  virtual bool rests(SeqSlot) const { return false; }
  // Whether it rests for so long that nothing of it need be read or kept until the next step. Slot
  // kNoSlot: all do.
  virtual bool sleeps(SeqSlot) const { return false; }
  // Drafts of lower scores are left out.
  virtual float least_score() const { return 0.0F; }
  // Whether to grow a level of `rows` rows below nodes whose scores sum up to `promised`.
  virtual bool is_level_worth(int rows, double promised) const {
    (void)rows, (void)promised;
    return true;
  }
  // Replaces the probabilities that the draft model gives the candidates of a level, the first
  // one's children first, by those that they are taken for.
  virtual void rate(int level, std::span<float> probabilities) const {
    (void)level, (void)probabilities;
  }

  // The draft model computes from here to the matching end_forward(), `rows` rows in all. A begin
  // without an end computed nothing.
  virtual void begin_forward(DraftWork work) { (void)work; }
  virtual void end_forward(int rows) { (void)rows; }
};

}  // namespace foretoken
