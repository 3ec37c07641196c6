#include "spec/controller.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Grows a chain as long as its budget and remembers the budgets.
class ChainDrafter final : public Drafter {
 public:
  explicit ChainDrafter(std::vector<std::vector<int>>& budgets) : budgets_(budgets) {}
  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 8, .scratch_slots = 3}; }
  void open(SeqSlot, std::span<const Token>) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override {}
  void propose(std::span<const SeqSlot> slots, std::span<const int> budget,
               DraftTrees& trees) override {
    budgets_.emplace_back(budget.begin(), budget.end());
    for (std::size_t i = 0; i < slots.size(); ++i)
      for (int node = 1; node < budget[i]; ++node) trees.grow(slots[i], node - 1, node);
  }

 private:
  std::vector<std::vector<int>>& budgets_;
};

// Steps of one sequence, of which the walk accepts so many proposals at most.
class Steps {
 public:
  explicit Steps(double seconds_per_node) : seconds_per_node_(seconds_per_node) {
    controller_.open(0, {});
  }

  int run(int accepted, int budget = 8) {
    const std::vector<SeqSlot> slots{0};
    StepPlan plan;
    plan.entries.push_back({.slot = 0, .has_tree = true});
    const int nodes = trees_.size(0);
    seconds_ += 1 + seconds_per_node_ * nodes;
    Walk walk;
    walk.seqs.push_back({.slot = 0, .path = {}, .emitted = {}, .scored = {}});
    walk.seqs[0].emitted.resize(static_cast<std::size_t>(1 + std::min(accepted, nodes - 1)));
    controller_.observe(
        {.plan = plan, .table = table_, .batch = batch_, .walk = walk, .features = {}});
    trees_.plant(0, 0);
    controller_.propose(slots, std::vector<int>{budget}, trees_);
    return trees_.size(0);
  }

  const std::vector<std::vector<int>>& budgets() const { return budgets_; }
  const Controller& controller() const { return controller_; }

 private:
  const double seconds_per_node_;
  double seconds_ = 0;
  std::vector<std::vector<int>> budgets_;
  Controller controller_{std::make_unique<ChainDrafter>(budgets_), [this] { return seconds_; }};
  DraftTrees trees_{1, 8};
  SeqTable table_{1};
  Batch batch_;
};

TEST(Controller, hands_on_what_the_drafter_needs) {
  Steps steps(0);
  EXPECT_EQ(steps.controller().needs().max_nodes, 8);
  EXPECT_EQ(steps.controller().needs().scratch_slots, 3);
}

TEST(Controller, keeps_full_trees_that_cost_nothing) {
  Steps steps(0.001);
  for (int i = 0; i < 500; ++i) steps.run(7);
  int full = 0;
  for (int i = 0; i < 100; ++i) full += steps.run(7) == 8;
  EXPECT_GT(full, 90);
}

TEST(Controller, stops_drafting_what_is_never_accepted) {
  Steps steps(0.1);
  for (int i = 0; i < 500; ++i) steps.run(0);
  int plain = 0;
  for (int i = 0; i < 100; ++i) plain += steps.run(0) == 1;
  EXPECT_GT(plain, 90);
}

TEST(Controller, never_exceeds_the_budget_it_is_given) {
  Steps steps(0.001);
  for (int i = 0; i < 100; ++i) EXPECT_LE(steps.run(7, 1 + i % 5), 1 + i % 5);
}

}  // namespace
}  // namespace foretoken
