#pragma once
// DraftTiming: the clock beside a drafter: tells NodeWorth what steps, levels and rounds take and
// what became of trees. Engine thread only.

#include <vector>

#include "spec/drafter.h"
#include "spec/node_worth.h"

namespace foretoken {

class DraftTiming {
 public:
  // The drafter is told facts, begins to grow, has grown a level, has planted trees.
  void observe(const CommittedRows& rows);
  void begin_level();
  void end_level();
  void plant(SeqSlot slot, double promised);
  void end_growth();

  const NodeWorth& worth() const { return worth_; }

 private:
  NodeWorth worth_;
  std::vector<double> promised_;  // by slot: sum of the scores of its tree
  double observed_ = 0;           // when facts came last
  double grown_ = 0;              // when trees were complete
  double level_begin_ = 0;
};

}  // namespace foretoken
