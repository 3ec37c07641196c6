#include "base/shared_tokens.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(SharedTokens, copies_share_the_list_until_one_grows) {
  const SharedTokens prompt({1, 2, 3});
  SharedTokens copy = prompt;
  EXPECT_EQ(copy.data(), prompt.data());
  copy.push_back(4);
  copy.push_back(5);
  EXPECT_NE(copy.data(), prompt.data());
  EXPECT_EQ(prompt.to_vector(), (std::vector<Token>{1, 2, 3}));
  EXPECT_EQ(copy.to_vector(), (std::vector<Token>{1, 2, 3, 4, 5}));
  EXPECT_EQ(copy.back(), 5);
}

TEST(SharedTokens, the_range_of_its_ids_is_known) {
  SharedTokens tokens({3, 0, 9});
  EXPECT_TRUE(tokens.all_in(10));
  EXPECT_FALSE(tokens.all_in(9));
  tokens.push_back(-1);
  EXPECT_FALSE(tokens.all_in(10));
  EXPECT_TRUE(SharedTokens().all_in(0));
}

TEST(SharedTokens, a_list_that_has_grown_can_be_shared_again) {
  SharedTokens tokens({1, 2});
  tokens.push_back(3);
  tokens.share();
  SharedTokens copy = tokens;
  EXPECT_EQ(copy.data(), tokens.data());
  copy.push_back(4);
  EXPECT_EQ(tokens.to_vector(), (std::vector<Token>{1, 2, 3}));
  EXPECT_EQ(copy.to_vector(), (std::vector<Token>{1, 2, 3, 4}));
  EXPECT_FALSE(copy.all_in(4));
  SharedTokens none;
  none.share();
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace foretoken
