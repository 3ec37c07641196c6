#include "batch/tree.h"

#include <array>

#include <gtest/gtest.h>

#include "batch/sampling.h"

namespace foretoken {
namespace {

std::vector<std::int32_t> depths(const std::vector<std::int32_t>& parents) {
  std::vector<std::int32_t> out(parents.size());
  tree_depths(parents, out);
  return out;
}

TEST(DraftTrees, planting_leaves_one_node) {
  DraftTrees trees(2, 4);
  trees.plant(1, 7);
  trees.grow(1, 0, 8);
  trees.plant(1, 9);
  EXPECT_EQ(trees.size(1), 1);
  EXPECT_EQ(trees.tokens(1)[0], 9);
  EXPECT_EQ(trees.parents(1)[0], -1);
  EXPECT_EQ(trees.size(0), 0);
}

TEST(DraftTrees, growing_a_known_sibling_returns_it) {
  DraftTrees trees(1, 4);
  trees.plant(0, 1);
  EXPECT_EQ(trees.grow(0, 0, 5), 1);
  EXPECT_EQ(trees.grow(0, 1, 5), 2);
  EXPECT_EQ(trees.grow(0, 0, 5), 1);
  EXPECT_EQ(trees.grow(0, 1, 5), 2);
  EXPECT_EQ(trees.size(0), 3);
}

TEST(DraftTrees, a_full_tree_still_finds_siblings) {
  DraftTrees trees(1, 2);
  trees.plant(0, 1);
  EXPECT_EQ(trees.grow(0, 0, 5), 1);
  EXPECT_EQ(trees.grow(0, 0, 6), -1);
  EXPECT_EQ(trees.grow(0, 0, 5), 1);
}

TEST(DraftTrees, pruning_keeps_a_prefix) {
  DraftTrees trees(1, 4);
  trees.plant(0, 1);
  trees.grow(0, 0, 5);
  trees.grow(0, 1, 6);
  trees.prune(0, 2);
  EXPECT_EQ(trees.size(0), 2);
  trees.prune(0, 4);
  EXPECT_EQ(trees.size(0), 2);
}

// Golden trees of SGLang's tests: links (first child, next sibling) given there, as parents here.
TEST(Tree, depths_give_the_positions_of_known_trees) {
  EXPECT_EQ(depths({-1, 0, 0, 1, 2, 3, 4, 5}), (std::vector<std::int32_t>{0, 1, 1, 2, 2, 3, 3, 4}));
  EXPECT_EQ(depths({-1, 0, 1, 1, 1, 1, 3, 6}), (std::vector<std::int32_t>{0, 1, 2, 2, 2, 2, 3, 4}));
  EXPECT_EQ(depths({-1, 0, 0, 2}), (std::vector<std::int32_t>{0, 1, 1, 2}));
}

TEST(Tree, masks_hold_ancestors_and_self) {
  std::array<std::uint64_t, 4> masks{};
  tree_masks(std::array<std::int32_t, 4>{-1, 0, 0, 2}, masks);
  EXPECT_EQ(masks, (std::array<std::uint64_t, 4>{0b0001, 0b0011, 0b0101, 0b1101}));
}

TEST(Tree, masks_of_the_longest_chain_use_all_bits) {
  std::vector<std::int32_t> parents(kMaxTreeNodes);
  for (std::size_t n = 0; n < parents.size(); ++n) parents[n] = static_cast<std::int32_t>(n) - 1;
  std::vector<std::uint64_t> masks(parents.size());
  tree_masks(parents, masks);
  EXPECT_EQ(masks.back(), ~std::uint64_t{0});
}

std::string fault(std::vector<Token> tokens, std::vector<std::int32_t> parents) {
  return tree_fault(tokens, parents);
}

TEST(Tree, faults_are_named) {
  EXPECT_EQ(fault({1, 2, 3}, {-1, 0, 0}), "");
  EXPECT_EQ(fault({1, 2}, {-1}), "2 tokens but 1 parents");
  EXPECT_EQ(fault({}, {}), "the tree has no root");
  EXPECT_EQ(fault({1}, {0}), "the root has parent 0");
  EXPECT_EQ(fault({1, 2}, {-1, 1}), "node 1 has parent 1");
  EXPECT_EQ(fault({1, 2, 2}, {-1, 0, 0}), "nodes 1 and 2 are siblings with token 2");
  EXPECT_EQ(tree_fault(std::vector<Token>(65), std::vector<std::int32_t>(65, 0)),
            "65 nodes, at most 64");
}

TEST(TokenCounts, prompt_and_output_are_told_apart) {
  TokenCounts counts;
  counts.add_prompt(3);
  counts.add_output(3);
  counts.add_output(3);
  counts.add_output(9);
  ASSERT_EQ(counts.entries().size(), 2U);
  EXPECT_TRUE(counts.find(3)->in_prompt);
  EXPECT_EQ(counts.find(3)->output_count, 2);
  EXPECT_FALSE(counts.find(9)->in_prompt);
  EXPECT_EQ(counts.find(4), nullptr);
  EXPECT_EQ(counts.find(-1), nullptr);
  counts.clear();
  EXPECT_EQ(counts.find(3), nullptr);
  counts.add_output(3);
  EXPECT_EQ(counts.find(3)->output_count, 1);
}

}  // namespace
}  // namespace foretoken
