#pragma once
// DraftPace: how much a drafter does: which sequences it drafts for, which drafts are worth a row,
// how many levels it grows. This one does all it may; MeasuredPace does what pays. What it answers
// changes speed only. Engine thread only.

#include <cstdint>
#include <span>

#include "draft/drafter.h"

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

  // A sequence enters the slot.
  virtual void open(SeqSlot) {}
  // No model drafts for the sequence in it; and nothing that runs none.
  virtual void spare(SeqSlot) {}
  virtual void spare_texts(SeqSlot) {}
  // The facts of a step, before the drafter does anything with them.
  virtual void observe(const CommittedRows&) {}
  // Whether, until the next facts, nothing is drafted for the slot.
  virtual bool rests(SeqSlot) const { return false; }
  // Whether it rests for so long that nothing of it need be read or kept until the next facts. Slot
  // kNoSlot: all do.
  virtual bool sleeps(SeqSlot) const { return false; }

  // The draft model computes something for so many rows.
  virtual void begin_forward(DraftWork work) { (void)work; }
  virtual void end_forward(int rows) { (void)rows; }

  // The probabilities that the draft model gives the candidates of a level, the first one's
  // children first: what they are taken for.
  virtual void rate(int level, std::span<float> probabilities) const {
    (void)level, (void)probabilities;
  }
  // Drafts of lower scores are left out.
  virtual float least_score() const { return 0.0F; }
  // Whether to grow a level of so many rows below nodes with this sum of scores.
  virtual bool is_level_worth(int rows, double promised) const {
    (void)rows, (void)promised;
    return true;
  }
  // The slot's tree is grown: the sum of its scores.
  virtual void plant(SeqSlot slot, double promised) { (void)slot, (void)promised; }
  // All trees are planted.
  virtual void end_growth() {}

  // What those heed that draft without a model, beside one that runs one: what they do costs and
  // brings something else.
  virtual DraftPace& texts() { return *this; }
  // Where one of the drafters runs a model, before the facts of a step are told: so many drafts of
  // the slot's tree would have been there without it, and so many of those were accepted.
  virtual void credit_texts(SeqSlot slot, int drafts, int accepted) {
    (void)slot, (void)drafts, (void)accepted;
  }
};

}  // namespace foretoken
