#pragma once
// NodeWorth: how probable a draft must be to be worth its row. A node that is accepted with
// probability p saves p times the seconds that a token takes and costs the seconds that a row adds
// to a step; how far scores are probabilities is learned from what became of drafts. Not a clock:
// it is told seconds. What it answers changes speed only. Engine thread only.

#include "draft/pace/score_trust.h"

namespace foretoken {

class NodeWorth {
 public:
  // What a row adds to a step of the target, and what a token takes; 0: unknown.
  void set_costs(double row_seconds, double token_seconds);
  // The nodes of a tree had this sum of scores, and so many were accepted.
  void add_outcome(double promised, int accepted) { trust_.add(promised, accepted); }

  // Nodes of lower scores are not worth their rows; 0 while nothing is known. Above 1: no node is.
  float break_even() const;
  // The same where drafts are to be tried: likely ones are worth it in any case.
  float least_score() const;
  // Whether a level that takes so long saves more below nodes with this sum of scores.
  bool is_level_worth(double promised, double seconds) const;

 private:
  double row_ = 0, token_ = 0;  // seconds
  ScoreTrust trust_;
};

}  // namespace foretoken
