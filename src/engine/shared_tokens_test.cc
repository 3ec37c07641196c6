#include "engine/shared_tokens.h"

#include <gtest/gtest.h>

#include "engine/sequence.h"

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

TEST(SharedTokens, waiting_sequences_hold_one_prompt) {
  Request request;
  request.prompt = std::vector<Token>(1000, 7);
  request.max_new_tokens = 5;
  const Sequence first(request, 0), second(request, 1);
  EXPECT_EQ(first.tokens.data(), second.tokens.data());
}

}  // namespace
}  // namespace foretoken
