#pragma once
// CouplingOdds: how much of the target's noise a draft should follow, and how likely candidates
// come true, both learned from what the target drew. The target's logits are taken to be the draft
// model's with Gumbel errors of some size added, and so much steeper that the draft model, which
// cannot know the errors, is right on average. Without errors the target's draw is the greatest sum
// of logit and noise; the larger they are, the less the noise tells, down to plain probability.
// What every size would have promised is judged by each token drawn, so nothing is tried out. Speed
// only. Engine thread only.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "batch/draws.h"
#include "spec/coupling.h"

namespace foretoken {

class CouplingOdds {
 public:
  explicit CouplingOdds(Coupling coupling) : coupling_(coupling) {}
  void open(SeqSlot slot);

  // What counts of the noise (see draw_candidates).
  float noise_share(SeqSlot slot) const;
  // Chances that candidates are drawn, at this temperature; of fewer than were found, the first.
  void to_chances(SeqSlot slot, float temperature, std::span<const Drawable> found,
                  std::span<float> out) const;

  // What there is to judge below the slot's root, and what the target drew there.
  void expect(SeqSlot slot, float temperature, std::span<const Drawable> judged);
  void add_outcome(SeqSlot slot, Token drawn);

  // Sizes of errors that are told apart, in units of logits at temperature 1; the last: so large
  // that the noise says nothing.
  static constexpr std::array kErrors{0.05F, 0.15F, 0.3F, 0.5F, 0.8F, 1.2F, 2.0F, 4.0F, 1000.0F};
  std::size_t best_error(SeqSlot slot) const;

 private:
  static constexpr std::size_t kJudged = 8;
  using Scores = std::array<float, kErrors.size()>;
  struct Slot {
    Scores score{};  // log-likelihoods, decaying
    float temperature = 1;
    std::array<Drawable, kJudged> judged{};
  };
  float slope(std::size_t error) const;
  float weigh(std::size_t error, float temperature, std::span<const Drawable> found,
              std::span<float> out) const;

  const Coupling coupling_;
  std::vector<Slot> slots_;
  Scores usual_ = first_scores();  // mean per token
  static Scores first_scores();
};

}  // namespace foretoken
