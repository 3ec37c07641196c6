#include "draft/tree_growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "batch/tree.h"

namespace foretoken {
namespace {

using Level = std::vector<float>;
using Tokens = std::vector<Token>;

// Two sequences, four levels of four: scores along the paths, as the draft model of a published
// test case gave them, and the trees of eight nodes that follow.
struct Golden {
  std::vector<Level> scores;
  std::vector<Tokens> tokens;
  std::vector<Token> tree;
  std::vector<std::int32_t> parents;
};

const Golden kFirst{
    .scores = {{7.1127e-01F, 2.8292e-01F, 2.2995e-03F, 1.7357e-03F},
               {6.9142e-01F, 1.2863e-02F, 1.6873e-03F, 1.1871e-03F, 2.4787e-01F, 1.8818e-02F,
                1.4204e-02F, 9.2235e-04F, 2.2971e-03F, 1.6700e-06F, 1.8737e-07F, 8.3146e-08F,
                1.2771e-03F, 2.4374e-04F, 1.7832e-04F, 1.1947e-05F},
               {6.6438e-01F, 2.6997e-02F, 2.4236e-05F, 4.0821e-06F, 2.4402e-01F, 2.8409e-03F,
                5.0935e-04F, 2.9022e-04F, 1.6178e-02F, 2.0567e-03F, 4.5892e-04F, 3.0034e-05F,
                1.3023e-02F, 5.0497e-04F, 3.6371e-04F, 8.7750e-05F},
               {6.6420e-01F, 1.0525e-04F, 6.5864e-05F, 1.2253e-06F, 1.3019e-01F, 1.0461e-01F,
                5.2083e-03F, 1.6777e-03F, 2.0103e-02F, 6.7335e-03F, 1.2625e-04F, 1.0364e-05F,
                1.5142e-02F, 7.0819e-04F, 9.6595e-05F, 8.7951e-05F}},
    .tokens = {{29896, 29906, 29900, 29945},
               {29889, 29974, 29945, 29900, 29974, 29922, 29930, 29958, 29889, 29974, 29930, 29945,
                29974, 29922, 29930, 29958},
               {29946, 29945, 29953, 29906, 29896, 29945, 29900, 29906, 29896, 29945, 29906, 29953,
                29896, 29945, 29906, 29946},
               {29946, 29974, 29945, 29930, 29889, 29922, 29974, 29930, 29974, 29946, 29930, 29922,
                29889, 29974, 29945, 29922}},
    .tree = {29974, 29896, 29906, 29889, 29974, 29946, 29896, 29946},
    .parents = {-1, 0, 0, 1, 2, 3, 4, 5}};

const Golden kSecond{
    .scores = {{9.7476e-01F, 2.2219e-02F, 6.5031e-04F, 1.3212e-04F},
               {8.4832e-02F, 6.6068e-02F, 5.8304e-02F, 5.7851e-02F, 2.3616e-03F, 1.1243e-03F,
                5.4368e-04F, 2.7768e-04F, 2.5286e-04F, 1.5578e-04F, 2.8817e-05F, 1.2888e-05F,
                1.2834e-04F, 2.5417e-06F, 1.1279e-06F, 1.6088e-08F},
               {2.3263e-02F, 2.0054e-02F, 9.3990e-03F, 2.7783e-03F, 6.4156e-02F, 5.5506e-04F,
                1.0429e-04F, 9.7211e-05F, 4.9950e-02F, 5.0630e-03F, 9.0068e-04F, 3.3656e-04F,
                7.5817e-03F, 8.5731e-04F, 6.9972e-04F, 6.0793e-04F},
               {5.8608e-02F, 1.8840e-03F, 7.8535e-04F, 4.4400e-04F, 1.2185e-02F, 2.0684e-03F,
                1.7418e-03F, 1.4327e-03F, 6.2455e-03F, 6.1487e-03F, 2.6862e-03F, 1.8034e-03F,
                1.8590e-03F, 1.6151e-03F, 1.2481e-03F, 3.6038e-04F}},
    .tokens = {{13, 2, 29871, 28956},
               {22550, 4136, 16492, 8439, 29871, 2, 3001, 13, 2, 13, 29906, 29946, 2, 13, 29871,
                259},
               {29871, 2, 29901, 29889, 29871, 2, 395, 259, 29901, 29871, 2, 29889, 3001, 1234,
                7146, 2186},
               {29941, 29906, 2, 29946, 29871, 450, 319, 14990, 29946, 29941, 2, 29906, 29871, 2,
                3001, 13}},
    .tree = {13, 13, 22550, 4136, 16492, 8439, 29871, 29941},
    .parents = {-1, 0, 1, 1, 1, 1, 3, 6}};

// Feeds levels of which the rows that are followed no more have to be left out. The scores of a
// row are path scores; what the model gave is their share of the parent's.
DraftTrees grow(const Golden& golden) {
  constexpr int kTopk = 4;
  TreeGrowth growth;
  growth.start({.steps = 4, .topk = kTopk, .nodes = 8}, {});
  std::vector<int> rows{0};  // of the golden level, for each followed candidate
  std::vector<int> place;    // in its golden level, by candidate
  for (std::size_t level = 0; level < golden.scores.size(); ++level) {
    Tokens tokens;
    Level probabilities;
    std::size_t next = 0;
    for (const int row : rows) {
      const int parent = level == 0 ? -1 : growth.followed()[next++];
      for (int i = 0; i < kTopk; ++i) {
        const auto at = static_cast<std::size_t>(row * kTopk + i);
        tokens.push_back(golden.tokens[level][at]);
        probabilities.push_back(golden.scores[level][at] /
                                (parent < 0 ? 1.0F : growth.score(parent)));
        place.push_back(static_cast<int>(at));
      }
    }
    growth.add_level(tokens, probabilities);
    // In the golden tables row r of the next level belongs to the r-th best of this whole level.
    std::vector<int> best(golden.scores[level].size());
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = static_cast<int>(i);
    std::stable_sort(best.begin(), best.end(), [&](int a, int b) {
      return golden.scores[level][static_cast<std::size_t>(a)] >
             golden.scores[level][static_cast<std::size_t>(b)];
    });
    rows.clear();
    for (const int candidate : growth.followed()) {
      const int at = place[static_cast<std::size_t>(candidate)];
      rows.push_back(static_cast<int>(std::find(best.begin(), best.end(), at) - best.begin()));
    }
  }
  DraftTrees trees(1, 8);
  trees.plant(0, golden.tree[0]);
  std::vector<int> node(place.size(), -1);
  for (const int candidate : growth.chosen()) {
    const int parent = growth.parent(candidate);
    node[static_cast<std::size_t>(candidate)] = trees.grow(
        0, parent < 0 ? 0 : node[static_cast<std::size_t>(parent)], growth.token(candidate));
  }
  return trees;
}

template <typename T>
std::vector<T> list(std::span<const T> items) {
  return {items.begin(), items.end()};
}

TEST(TreeGrowth, makes_the_published_trees) {
  for (const Golden* golden : {&kFirst, &kSecond}) {
    const DraftTrees trees = grow(*golden);
    EXPECT_EQ(list(trees.tokens(0)), golden->tree);
    EXPECT_EQ(list(trees.parents(0)), golden->parents);
  }
}

TEST(TreeGrowth, a_chain_follows_one_token_per_level) {
  TreeGrowth growth;
  growth.start({.steps = 3, .topk = 1, .nodes = 4}, {});
  EXPECT_EQ(growth.most_levels(), 3);
  for (const Token token : {5, 6, 7}) growth.add_level(Tokens{token}, Level{1.0F});
  EXPECT_EQ(list(growth.chosen()), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(growth.parent(2), 1);
}

TEST(TreeGrowth, a_limit_of_depth_leaves_the_nodes_alone) {
  TreeGrowth growth;
  growth.start({.steps = 5, .topk = 3, .nodes = 16}, {.nodes = 16, .depth = 1});
  EXPECT_EQ(growth.most_levels(), 1);
  growth.add_level(Tokens{1, 2, 3}, Level{0.6F, 0.3F, 0.1F});
  EXPECT_EQ(list(growth.chosen()), (std::vector<int>{0, 1, 2}));
}

TEST(TreeGrowth, few_nodes_are_few_levels) {
  TreeGrowth growth;
  growth.start({.steps = 5, .topk = 2, .nodes = 16}, {.nodes = 3});
  EXPECT_EQ(growth.most_levels(), 2);
  growth.add_level(Tokens{1, 2}, Level{0.6F, 0.4F});
  EXPECT_EQ(growth.followed().size(), 2U);
  growth.add_level(Tokens{3, 4, 3, 4}, Level{0.5F, 0.1F, 0.9F, 0.1F});
  EXPECT_EQ(list(growth.chosen()), (std::vector<int>{0, 1}));
}

TEST(TreeGrowth, what_is_not_a_number_or_missing_is_no_candidate) {
  TreeGrowth growth;
  growth.start({.steps = 2, .topk = 3, .nodes = 8}, {});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  growth.add_level(Tokens{1, 2, kNoToken}, Level{nan, 0.5F, 0.1F});
  ASSERT_EQ(growth.followed().size(), 1U);
  EXPECT_EQ(growth.token(growth.followed()[0]), 2);
  growth.add_level(Tokens{kNoToken, kNoToken, kNoToken}, Level{nan, nan, nan});
  EXPECT_TRUE(growth.followed().empty());
  EXPECT_EQ(growth.chosen().size(), 1U);
}

// Against the definition: every candidate of every followed-by-rank row is scored, the best N - 1
// of all are kept. Leaving rows out early must not change the tree.
TEST(TreeGrowth, leaves_out_only_what_could_not_get_in) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0.01F, 1.0F);
  for (int round = 0; round < 200; ++round) {
    const TreeShape shape{.steps = 1 + round % 4, .topk = 1 + round % 5, .nodes = 2 + round % 20};
    TreeGrowth growth;
    growth.start(shape, {});
    std::vector<float> every_score;
    std::vector<float> all_rows{1.0F};  // scores of the definition's survivors
    std::size_t rows = 1;
    for (int level = 0; level < growth.most_levels() && rows > 0; ++level) {
      // The row of a score is a function of the score, so both sides see the same model.
      const auto probabilities_of = [&](float score) {
        std::mt19937 own(static_cast<unsigned>(std::lround(score * 1e6F)) + 1U);
        Level p;
        float left = 1.0F;
        for (int i = 0; i < shape.topk; ++i) {
          p.push_back(left * uniform(own) * 0.7F);
          left -= p.back();
        }
        std::sort(p.rbegin(), p.rend());
        return p;
      };
      std::vector<float> next;
      for (const float score : all_rows)
        for (const float p : probabilities_of(score)) next.push_back(p * score);
      every_score.insert(every_score.end(), next.begin(), next.end());
      std::sort(next.rbegin(), next.rend());
      next.resize(std::min(next.size(), static_cast<std::size_t>(shape.topk)));
      all_rows = next;

      Level fed;
      if (level == 0) fed = probabilities_of(1.0F);
      for (std::size_t r = 0; level > 0 && r < rows; ++r)
        for (const float p : probabilities_of(growth.score(growth.followed()[r]))) fed.push_back(p);
      Tokens tokens(fed.size());
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(i);
      growth.add_level(tokens, fed);
      rows = growth.followed().size();
    }
    std::sort(every_score.rbegin(), every_score.rend());
    std::vector<float> kept;
    for (const int candidate : growth.chosen()) kept.push_back(growth.score(candidate));
    std::sort(kept.rbegin(), kept.rend());
    ASSERT_EQ(kept.size(), std::min(every_score.size(), static_cast<std::size_t>(shape.nodes - 1)));
    for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i], every_score[i]) << round;
  }
}

TEST(TreeShape, no_more_is_drafted_and_stored_than_can_get_into_the_tree) {
  EXPECT_EQ(draft_slots({.steps = 1, .topk = 8, .nodes = 9}), 1);
  EXPECT_EQ(draft_slots({.steps = 3, .topk = 8, .nodes = 64}), 17);
  EXPECT_EQ(draft_slots({.steps = 8, .topk = 10, .nodes = 60}), 60) << "70 are followed";
  EXPECT_EQ(draft_slots({.steps = 1 << 30, .topk = 1 << 30, .nodes = 64}), 64);
  EXPECT_EQ(draft_slots({.steps = 1, .topk = 1, .nodes = 1}), 1);
  const TreeShape needed = needed_shape({.steps = 100, .topk = 7, .nodes = 6});
  EXPECT_EQ(needed.steps, 5);
  EXPECT_EQ(needed.topk, 5);
  EXPECT_EQ(needed.nodes, 6);
}

TEST(BestScores, are_listed_by_index_and_the_lower_index_wins_ties) {
  std::vector<int> out;
  best_scores(std::array{0.5F, 0.9F, 0.5F, 0.1F}, 2, 0.0F, out);
  EXPECT_EQ(out, (std::vector<int>{0, 1}));
  best_scores(std::array{0.5F, 0.25F, 0.125F}, 3, 0.25F, out);  // the least itself counts
  EXPECT_EQ(out, (std::vector<int>{0, 1}));
  best_scores(std::array{0.5F, 0.9F}, 5, 0.0F, out);
  EXPECT_EQ(out, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace foretoken
