#include "draft/level_grower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;

// Every row leads to tokens 10 * level + rank; all of a tree that is mute lead to none.
class Counting final : public LevelSource {
 public:
  Counting(const LevelGrower& grower, int topk) : grower_(grower), topk_(topk) {}

  void compute(int level, int rows) override {
    EXPECT_EQ(level, static_cast<int>(computed.size()));
    computed.push_back(rows);
    listed.emplace_back();
  }
  void list(std::size_t tree, std::vector<Token>& tokens,
            std::vector<float>& probabilities) override {
    EXPECT_TRUE(grower_.grows(tree));
    listed.back().push_back(tree);
    const TreeGrowth& growth = grower_.tree(tree);
    const auto rows = growth.levels() == 0 ? 1 : static_cast<int>(growth.followed().size());
    for (int i = 0; i < rows * topk_; ++i) {
      const bool is_mute = tree == mute && growth.levels() > 0;
      tokens.push_back(is_mute ? kNoToken : 10 * growth.levels() + i % topk_);
      probabilities.push_back(i % topk_ == 0 ? 0.5F : 0.25F);
    }
  }

  std::vector<int> computed;                     // rows, by level
  std::vector<std::vector<std::size_t>> listed;  // trees, by level
  std::size_t mute = 99;

 private:
  const LevelGrower& grower_;
  const int topk_;
};

// Notes what it is asked and told.
class Noting final : public DraftPace {
 public:
  bool is_level_worth(int rows, double promised) const override {
    asked.push_back(rows);
    promises.push_back(promised);
    return static_cast<int>(asked.size()) <= most_levels;
  }
  void rate(int level, std::span<float> probabilities) const override {
    if (level == 0 && doubts) probabilities[0] = 0.125F;
  }
  void begin_forward(DraftWork work) override { works.push_back(work); }
  void end_forward(int rows) override { computed.push_back(rows); }

  int most_levels = 100;
  bool doubts = false;
  mutable std::vector<int> asked;
  mutable std::vector<double> promises;
  std::vector<DraftWork> works;
  std::vector<int> computed;
};

std::vector<Token> tokens_of(LevelGrower& grower, std::size_t tree) {
  DraftTrees trees(1, kMaxTreeNodes);
  trees.plant(0, 1);
  grower.plant(tree, 0, trees);
  const auto tokens = trees.tokens(0).subspan(1);
  return {tokens.begin(), tokens.end()};
}

TEST(LevelGrower, a_level_of_all_trees_is_computed_at_once) {
  LevelGrower grower;
  EXPECT_EQ(grower.add({.steps = 3, .topk = 2, .nodes = 16}, {}, 0), 0U);
  EXPECT_EQ(grower.add({.steps = 2, .topk = 2, .nodes = 16}, {}, 0), 1U);
  EXPECT_EQ(grower.add({.steps = 3, .topk = 2, .nodes = 16}, {.nodes = 16, .depth = 1}, 0), 2U);
  Counting source(grower, 2);
  Noting pace;
  grower.grow(source, pace);
  EXPECT_THAT(source.computed, ElementsAre(3, 4, 2));
  EXPECT_THAT(source.listed, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1), ElementsAre(0)));
  EXPECT_THAT(pace.works, ElementsAre(DraftWork::kRoots, DraftWork::kLevel, DraftWork::kLevel));
  EXPECT_THAT(pace.computed, ElementsAre(3, 4, 2));
  EXPECT_THAT(pace.asked, ElementsAre(4, 2)) << "not of roots, and not where nothing follows";
  EXPECT_DOUBLE_EQ(pace.promises[0], 1.5) << "0.5 and 0.25 of two trees";
  EXPECT_THAT(tokens_of(grower, 2), ElementsAre(0, 1));
  EXPECT_EQ(tokens_of(grower, 1).size(), 6U);
}

TEST(LevelGrower, stops_where_a_level_is_not_worth_it) {
  LevelGrower grower;
  grower.add({.steps = 5, .topk = 1, .nodes = 6}, {}, 0);
  Counting source(grower, 1);
  Noting pace;
  pace.most_levels = 2;
  grower.grow(source, pace);
  EXPECT_THAT(source.computed, ElementsAre(1, 1, 1));
  EXPECT_THAT(tokens_of(grower, 0), ElementsAre(0, 10, 20));
}

TEST(LevelGrower, a_tree_without_candidates_grows_no_further) {
  LevelGrower grower;
  grower.add({.steps = 3, .topk = 1, .nodes = 4}, {}, 0);
  grower.add({.steps = 3, .topk = 1, .nodes = 4}, {}, 0);
  Counting source(grower, 1);
  source.mute = 1;
  Noting pace;
  grower.grow(source, pace);
  EXPECT_THAT(source.computed, ElementsAre(2, 2, 1));
  EXPECT_THAT(tokens_of(grower, 1), ElementsAre(0));
}

TEST(LevelGrower, scores_are_what_the_pace_takes_probabilities_for) {
  LevelGrower grower;
  grower.add({.steps = 1, .topk = 2, .nodes = 3}, {}, 0);
  grower.add({.steps = 1, .topk = 2, .nodes = 3}, {}, 0.2F);
  Counting source(grower, 2);
  Noting pace;
  pace.doubts = true;
  grower.grow(source, pace);
  EXPECT_THAT(grower.tree(0).score(0), FloatEq(0.125F));
  EXPECT_THAT(tokens_of(grower, 1), ElementsAre(1)) << "the other scores less than the least";
}

TEST(LevelGrower, without_trees_nothing_is_computed) {
  LevelGrower grower;
  grower.add({}, {}, 0);
  grower.clear();
  Counting source(grower, 1);
  Noting pace;
  grower.grow(source, pace);
  EXPECT_THAT(source.computed, IsEmpty());
  EXPECT_THAT(pace.works, IsEmpty());
}

}  // namespace
}  // namespace foretoken
