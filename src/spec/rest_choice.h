#pragma once
// RestChoice: for which sequences nothing is drafted, because it gains less than it costs. Those
// that rest are tried again from time to time, all at once, because a draft model costs about as
// much for one sequence as for many; the more seldom the longer drafting has not paid for any. Not
// a clock: it is told gains. Engine thread only.

#include <cstddef>
#include <vector>

#include "base/index.h"
#include "base/types.h"

namespace foretoken {

class RestChoice {
 public:
  RestChoice();

  void open(SeqSlot slot);
  bool rests(SeqSlot slot) const { return slots_[at(slot)].rests; }

  // A step of the engine passed.
  void add_step();
  // In tokens: those that a step of this slot gained, less what drafting for it cost.
  void add_gain(SeqSlot slot, double tokens);

 private:
  struct Slot {
    bool rests = false;
    int steps = 0;    // drafted since it woke, up to the memory of `gain`
    double gain = 0;  // mean of those
  };
  bool is_trial() const;

  std::vector<Slot> slots_;
  double usual_gain_ = 0;  // of all that are drafted for
  int steps_ = 0;          // since the last trial began
  int pause_;              // steps from one trial to the next
};

}  // namespace foretoken
