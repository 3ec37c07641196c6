#pragma once
// ScoreTrust: how far the scores of drafts are the chances that they are accepted, learned from
// what became of trees. Speed only. One thread.

namespace foretoken {

class ScoreTrust {
 public:
  // The nodes of a tree had this sum of scores, and so many were accepted.
  void add(double promised, int accepted) {
    if (promised <= 0) return;
    promised_ = promised_ * kMemory + promised;
    accepted_ = accepted_ * kMemory + accepted;
  }

  // What a score is to be multiplied with.
  double factor() const { return (accepted_ + kPrior) / (promised_ + kPrior); }

 private:
  static constexpr double kMemory = 0.98;  // of the decaying sums, per tree
  static constexpr double kPrior = 8.0;    // tokens that scores are taken at their word for

  double accepted_ = 0, promised_ = 0;  // decaying sums
};

}  // namespace foretoken
