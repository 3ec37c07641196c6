#pragma once
// MatchOdds: how often drafts of a kind come true, learned from what became of them. A kind is
// how long the text agrees with the text that the draft is taken from, and how often it was this
// token that followed there. Speed only. One thread.

#include <array>
#include <cstddef>
#include <cstdint>

namespace foretoken {

class MatchOdds {
 public:
  using Kind = std::uint8_t;
  // context: tokens that agree, from 1 on. share: 0 to 1.
  static Kind kind_of(int context, float share);

  MatchOdds();
  float chance(Kind kind) const { return chance_[kind]; }
  // A draft whose parent came true did so, too, or not.
  void add(Kind kind, bool came_true);

 private:
  static constexpr std::size_t kContexts = 8, kShares = 6;
  struct Tally {
    float tries = 0, hits = 0;
  };

  std::array<float, kContexts * kShares> prior_, chance_;
  std::array<Tally, kContexts * kShares> tally_;
};

}  // namespace foretoken
