#pragma once
// CouplingOdds: whether drafts should follow the target's noise, how far, and how likely candidates
// come true, all learned from what the target drew. The target's draw is the greatest sum of logit
// and noise; what a draft knows of it is its own logit, so that only a share of the noise tells,
// none where the two models differ too much. Every share is joined with every sharpness, which says
// how sure the order is then, and each pair is judged by each token drawn: nothing is tried out.
// Speed only. Engine thread only.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/index.h"
#include "batch/draws.h"
#include "draft/coupling.h"

namespace foretoken {

class CouplingOdds {
 public:
  explicit CouplingOdds(Coupling coupling) : coupling_(coupling) {}
  void open(SeqSlot slot);

  // Whether the noise tells enough to be worth drawing candidates.
  bool follows_noise(SeqSlot slot) const { return slots_[at(slot)].follows; }
  // What counts of the noise where it is followed (see draw_candidates).
  float noise_share(SeqSlot slot) const;
  // Whether to judge the slot's next root: all of them while the noise is followed, else few.
  // Counts.
  bool wants_outcome(SeqSlot slot);
  // Chances that candidates are drawn, at this temperature; of fewer than were found, the first.
  void to_chances(SeqSlot slot, float temperature, std::span<const Drawable> found,
                  std::span<float> out) const;

  // What there is to judge below the slot's root, what was found there, and what the target drew.
  void expect(SeqSlot slot, float temperature, std::span<const Drawable> found,
              std::span<const Drawable> judged);
  void add_outcome(SeqSlot slot, Token drawn);

  static constexpr std::array kShares{1.0F, 0.8F, 0.6F, 0.4F, 0.2F, 0.0F};
  // Per unit of log-probability at temperature 1; large: both models all but agree.
  static constexpr std::array kSharpness{0.5F, 0.8F, 1.2F, 2.0F, 5.0F};
  static constexpr std::size_t kJudged = 8;  // candidates of a root, at most

 private:
  static constexpr std::size_t kPairs = kShares.size() * kSharpness.size();
  // What outcomes have shown: sums that decay of a sequence, means of all.
  struct Record {
    float tokens = 0;
    std::array<float, kPairs> score{};  // log-likelihoods
    float missed = 0;                   // draws of what was not found
    float rest = 0;                     // how many there should have been by the draft model
    void add(const Record& news, float keep, float share);
  };
  struct Slot {
    Record own;
    std::size_t best = 0;  // pair
    bool follows = false;
    float often = 1;   // draws of what is not found, for the draft model's probability of them
    int unjudged = 0;  // roots since the last one that was judged
    // What is judged next.
    float temperature = 1;
    float rest = 0;
    std::vector<Token> found;
    std::array<Drawable, kJudged> judged{};
    std::size_t num_judged = 0;
  };
  Record total(const Slot& slot) const;
  void choose(Slot& slot) const;
  Record news_of(const Slot& slot, Token drawn) const;

  const Coupling coupling_;
  std::vector<Slot> slots_;
  Record usual_;
  int outcomes_ = 0;  // that are usual, up to as many as are remembered
};

}  // namespace foretoken
