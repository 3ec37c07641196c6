#include "draft/from_text/unread_text.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::vector<Token> all_of(const UnreadText& text) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size(); ++i) tokens.push_back(text[i]);
  return tokens;
}

TEST(UnreadText, is_what_came_before_then_the_tokens_then_what_was_added) {
  const std::vector<Token> before{1, 2};
  UnreadText text;
  text.start(before, SharedTokens({3, 4, 5}));
  text.push_back(6);
  text.push_back(7);
  EXPECT_EQ(all_of(text), (std::vector<Token>{1, 2, 3, 4, 5, 6, 7}));
  text.start({}, SharedTokens({8}));
  EXPECT_EQ(all_of(text), std::vector<Token>{8});
  text.drop();
  EXPECT_EQ(text.size(), 0U);
  text.push_back(9);
  EXPECT_EQ(all_of(text), std::vector<Token>{9});
}

TEST(UnreadText, leaves_the_list_it_shares_as_it_was) {
  const SharedTokens prompt({1, 2, 3});
  UnreadText text;
  text.start({}, prompt);
  text.push_back(4);
  EXPECT_EQ(prompt.to_vector(), (std::vector<Token>{1, 2, 3}));
}

}  // namespace
}  // namespace foretoken
