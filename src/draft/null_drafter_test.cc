#include <array>

#include <gtest/gtest.h>

#include "draft/drafter.h"

namespace foretoken {
namespace {

TEST(NullDrafter, needs_nothing_and_leaves_every_tree_at_its_root) {
  const auto drafter = make_null_drafter();
  const DraftNeeds needs = drafter->needs();
  EXPECT_EQ(needs.max_nodes, 1);
  EXPECT_FALSE(needs.taps.last_hidden);
  EXPECT_TRUE(needs.taps.layer_inputs.empty());

  DraftTrees trees(2, 8);
  trees.plant(0, 5);
  trees.plant(1, 6);
  const std::array<SeqSlot, 2> slots{0, 1};
  const std::array<TreeLimits, 2> limits;
  drafter->open(0, {.tokens = {1, 2, 5}});
  drafter->propose(slots, limits, trees);
  drafter->close(0);
  EXPECT_EQ(trees.size(0), 1);
  EXPECT_EQ(trees.size(1), 1);
  EXPECT_EQ(trees.tokens(1)[0], 6);
}

}  // namespace
}  // namespace foretoken
