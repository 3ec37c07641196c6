#include "draft/from_text/match_odds.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::array kContextFrom{1, 2, 3, 4, 5, 7, 9, 12};  // tokens
constexpr std::array kShareBelow{0.2F, 0.4F, 0.6F, 0.8F, 0.999F};
constexpr std::array kPriorOfContext{0.15F, 0.3F, 0.45F, 0.6F, 0.7F, 0.8F, 0.85F, 0.9F};
constexpr std::array kMiddleOfShare{0.1F, 0.3F, 0.5F, 0.7F, 0.9F, 1.0F};
constexpr float kPriorTries = 4;
constexpr float kTallyMemory = 0.995F;  // of a tally, per try

}  // namespace

MatchOdds::Kind MatchOdds::kind_of(int context, float share) {
  const auto length = std::ranges::upper_bound(kContextFrom, std::max(context, 1));
  const auto part = std::ranges::upper_bound(kShareBelow, share);
  return static_cast<Kind>((length - kContextFrom.begin() - 1) * std::ptrdiff_t{kShares} +
                           (part - kShareBelow.begin()));
}

MatchOdds::MatchOdds() : tally_{} {
  for (std::size_t kind = 0; kind < prior_.size(); ++kind)
    prior_[kind] = kPriorOfContext[kind / kShares] * kMiddleOfShare[kind % kShares];
  chance_ = prior_;
}

void MatchOdds::add(Kind kind, bool came_true) {
  Tally& tally = tally_[kind];
  tally.tries = (tally.tries + 1) * kTallyMemory;
  tally.hits = (tally.hits + (came_true ? 1.0F : 0.0F)) * kTallyMemory;
  chance_[kind] = (tally.hits + kPriorTries * prior_[kind]) / (tally.tries + kPriorTries);
}

}  // namespace foretoken
