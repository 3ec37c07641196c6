#pragma once
// UsualSteps: what drafted steps without prompts take and bring, means of the last ones: those for
// which the draft model was asked, the others, and all. One that took far longer than its like
// counts as little longer, because machines have slow moments. Not a clock. Engine thread only.

#include <algorithm>

namespace foretoken {

class UsualSteps {
 public:
  void clear() { asked_ = unasked_ = all_ = {}; }
  // Returns the seconds, cut where they are far from usual.
  double add(bool was_asked, double seconds, int tokens) {
    Mean& like = was_asked ? asked_ : unasked_;
    if (like.steps > 0) seconds = std::min(seconds, kOutlier * like.seconds);
    for (Mean* mean : {&like, &all_}) {
      mean->steps = std::min(mean->steps + 1, kMemory);
      mean->seconds += (seconds - mean->seconds) / mean->steps;
      mean->tokens += (tokens - mean->tokens) / mean->steps;
    }
    return seconds;
  }
  bool is_known() const { return all_.steps > 0; }
  double token_seconds() const { return all_.seconds / all_.tokens; }

 private:
  static constexpr int kMemory = 50;       // steps in means
  static constexpr double kOutlier = 1.5;  // a step counts as at most so many usual ones
  struct Mean {
    double seconds = 0, tokens = 0;
    int steps = 0;
  };
  Mean asked_, unasked_, all_;
};

}  // namespace foretoken
