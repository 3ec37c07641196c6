#pragma once
// Controller: a drafter around a drafter that gives its trees as many nodes as pay: it times steps
// and growth, counts what is emitted, and asks BudgetChoice. Under load, or where drafts are poor,
// trees shrink down to the root, which is plain decoding. The clock decides sizes, never tokens.
// Engine thread only.

#include <functional>
#include <memory>
#include <vector>

#include "spec/budget_choice.h"
#include "spec/drafter.h"

namespace foretoken {

class Controller final : public Drafter {
 public:
  using Clock = std::function<double()>;  // seconds since some moment

  explicit Controller(std::unique_ptr<Drafter> drafter, Clock clock = steady_seconds);

  DraftNeeds needs() const override { return drafter_->needs(); }
  void open(SeqSlot slot, std::span<const Token> tokens) override;
  void close(SeqSlot slot) override { drafter_->close(slot); }
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const int> budget,
               DraftTrees& trees) override;

  static double steady_seconds();

 private:
  bool verified_only_trees_of(int nodes, const CommittedRows& rows) const;

  std::unique_ptr<Drafter> drafter_;
  const Clock clock_;
  BudgetChoice choice_;
  std::vector<int> granted_;  // by slot: nodes of its tree now being verified, 0: none
  std::vector<int> budget_;
  int nodes_ = 0;     // chosen for the step now running
  double began_ = 0;  // when it began: the end of the growth before it
};

}  // namespace foretoken
