#include "draft/from_text/constraint_drafter.h"

#include <gtest/gtest.h>

#include "batch/testing/hash_constraint.h"
#include "draft/catalogue/union_drafter.h"

namespace foretoken {
namespace {

CommittedRows rows_of(const Walk& walk) {
  static const StepPlan plan;
  static const SeqTable table(1);
  static const Batch batch;
  static const Features features;
  return {.plan = plan, .table = table, .batch = batch, .walk = walk, .features = features};
}

Walk walk_that_foresees(SeqSlot slot, std::vector<Token> tokens) {
  Walk walk;
  WalkSeq& found = walk.seqs.emplace_back();
  found.slot = slot;
  found.foreseen = std::move(tokens);
  return walk;
}

std::vector<Token> tree_of(const DraftTrees& trees, SeqSlot slot) {
  EXPECT_EQ(tree_fault(trees.tokens(slot), trees.parents(slot)), "");
  const auto tokens = trees.tokens(slot);
  return {tokens.begin(), tokens.end()};
}

TEST(ConstraintDrafter, plants_what_is_foreseen_within_the_limits) {
  ConstraintDrafter drafter(6, 7, 3);
  EXPECT_TRUE(drafter.needs().foreseen);
  for (SeqSlot slot = 0; slot < 3; ++slot) drafter.open(slot, {});
  const std::vector<SeqSlot> slots{0, 1, 2};
  DraftTrees trees(3, 16);
  const auto propose = [&](std::vector<TreeLimits> limits) {
    for (const SeqSlot slot : slots) trees.plant(slot, 1);
    drafter.propose(slots, limits, trees);
  };
  propose({{}, {}, {}});
  EXPECT_EQ(tree_of(trees, 0), std::vector<Token>{1}) << "nothing is known";
  for (const SeqSlot slot : slots)
    drafter.observe(rows_of(walk_that_foresees(slot, {5, 6, 7, 8, 9, 10})));
  propose({{.nodes = 3}, {.depth = 1}, {}});
  EXPECT_EQ(tree_of(trees, 0), (std::vector<Token>{1, 5, 6}));
  EXPECT_EQ(tree_of(trees, 1), (std::vector<Token>{1, 5}));
  EXPECT_EQ(tree_of(trees, 2), (std::vector<Token>{1, 5, 6, 7, 8})) << "what others left";
  drafter.close(0);
  drafter.open(0, {});
  propose({{}, {}, {}});
  EXPECT_EQ(tree_of(trees, 0), std::vector<Token>{1}) << "of another request";
}

// Where there are drafts for some only, each gets them in its turn.
TEST(ConstraintDrafter, who_comes_first_changes_where_not_all_get_drafts) {
  ConstraintDrafter drafter(6, 3, 2);
  DraftTrees trees(2, 16);
  const std::vector<SeqSlot> slots{0, 1};
  for (const SeqSlot slot : slots) {
    drafter.open(slot, {});
    drafter.observe(rows_of(walk_that_foresees(slot, {5, 6, 7})));
  }
  std::vector<int> drafts;
  for (int step = 0; step < 4; ++step) {
    for (const SeqSlot slot : slots) trees.plant(slot, 1);
    drafter.propose(slots, std::vector<TreeLimits>(2), trees);
    EXPECT_EQ(trees.size(0) + trees.size(1), 5);
    drafts.push_back(trees.size(0) - 1);
  }
  EXPECT_EQ(drafts, (std::vector<int>{3, 0, 3, 0}));
}

TEST(ConstraintDrafter, what_never_comes_is_offered_no_longer_where_rows_cost) {
  class Costly final : public DraftPace {
   public:
    float least_score() const override { return 0.3F; }
  };
  ConstraintDrafter drafter(6, 100, 1, std::make_shared<Costly>());
  drafter.open(0, {});
  DraftTrees trees(1, 16);
  const auto offered = [&](Token sampled) {
    Walk walk = walk_that_foresees(0, {5, 6, 7});
    walk.seqs[0].emitted.resize(1);
    walk.seqs[0].emitted[0].token = sampled;
    drafter.observe(rows_of(walk));
    trees.plant(0, 1);
    drafter.propose(std::vector<SeqSlot>{0}, std::vector<TreeLimits>(1), trees);
    return trees.size(0) - 1;
  };
  EXPECT_EQ(offered(9), 3);
  int sum = 0;
  for (int i = 0; i < 40; ++i) sum += offered(9);
  EXPECT_LT(sum, 20);
  for (int i = 0; i < 400; ++i) offered(5);
  EXPECT_GE(offered(5), 1) << "but is tried again some day";
}

TEST(ConstraintDrafter, among_others_drafts_that_may_not_come_are_left_out) {
  HashConstraint constraint({.vocab = 40, .allowed_of_8 = 2, .ends_of_64 = 0});
  // Proposes every token below the root, and one below each.
  class Everything final : public Drafter {
   public:
    DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 64}; }
    void open(SeqSlot, const DraftRequest&) override {}
    void close(SeqSlot) override {}
    void observe(const CommittedRows&) override {}
    void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits>,
                 DraftTrees& trees) override {
      for (Token token = 0; token < 30; ++token)
        trees.grow(slots[0], trees.grow(slots[0], 0, token, 0.5F), token + 1, 0.4F);
    }
  };
  UnionDrafter all(1);
  all.add([](auto) { return std::make_unique<Everything>(); });
  all.add([](auto) { return std::make_unique<ConstraintDrafter>(8, 100, 1); });
  DraftRequest request;
  request.constraint = &constraint;
  all.open(0, request);
  DraftTrees trees(1, 64);
  trees.plant(0, 1);
  const auto foreseen = constraint.foreseen();
  const Walk walk = walk_that_foresees(0, foreseen);
  Batch batch;
  batch.seqs.resize(1);
  const StepPlan plan;
  const SeqTable table(1);
  const Features features;
  all.observe({.plan = plan, .table = table, .batch = batch, .walk = walk, .features = features});
  const std::vector<SeqSlot> slots{0};
  all.propose(slots, std::vector<TreeLimits>(1), trees);
  const auto tokens = trees.tokens(0);
  const auto parents = trees.parents(0);
  ASSERT_GT(tokens.size(), 5U);
  ASSERT_LT(tokens.size(), 45U);
  bool has_foreseen = false;
  for (std::size_t n = 1; n < tokens.size(); ++n) {
    std::vector<Token> path;
    for (auto at = static_cast<int>(n); at > 0; at = parents[static_cast<std::size_t>(at)])
      path.insert(path.begin(), tokens[static_cast<std::size_t>(at)]);
    EXPECT_EQ(constraint.count_allowed(path), static_cast<int>(path.size()));
    has_foreseen = has_foreseen || path == std::vector<Token>{foreseen.front()};
  }
  EXPECT_TRUE(has_foreseen);
  all.close(0);
}

}  // namespace
}  // namespace foretoken
