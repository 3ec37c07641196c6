#pragma once
// NodeWorth: how probable a draft must be to be worth its row. A node that is accepted with
// probability p saves p times the seconds that a token takes and costs the seconds that a row adds
// to a step; both are learned from the steps that pass, and so is how far scores can be trusted.
// Not a clock: it is told seconds. What it answers changes speed only. Engine thread only.

#include <vector>

namespace foretoken {

class NodeWorth {
 public:
  // A step of the target over so many rows of trees, without prompts, took so long.
  void add_step(int rows, double seconds);
  // Growing one level of the trees took so long.
  void add_level(double seconds);
  // A round of the engine, drafting included, emitted so many tokens.
  void add_round(int tokens, double seconds);
  // The nodes of a tree had this sum of scores, and so many were accepted.
  void add_outcome(double promised, int accepted);

  // Nodes of lower scores are not worth their rows; 0 while nothing is known.
  float least_score() const;
  // Whether a level pays below nodes with this sum of scores.
  bool is_level_worth(double promised) const;

 private:
  // Seconds of a step of about so many rows. Shared machines have slow moments, so what is far
  // above the mean counts as little above it.
  struct Cell {
    double rows = 0, seconds = 0;
  };
  void fit();
  double trust() const;
  double seconds_per_token() const;

  std::vector<Cell> cells_;
  double per_row_ = 0;                           // seconds that a row adds
  double level_ = 0;                             // seconds of a level
  double round_tokens_ = 0, round_seconds_ = 0;  // decaying sums
  double accepted_ = 0, promised_ = 0;           // the same
};

}  // namespace foretoken
