#include "model/heads/drafted_tokens.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DraftedTokens some() { return {{7, 3}, 100, {.groups = 2, .group_size = 2}}; }

TEST(DraftedTokens, begins_with_the_map) {
  const DraftedTokens tokens = some();
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3));
  EXPECT_EQ(tokens.most(), 6);
}

TEST(DraftedTokens, takes_in_what_a_text_brings_once) {
  DraftedTokens tokens = some();
  EXPECT_THAT(tokens.see(std::vector<Token>{3, 50, 7, 50, 51, 52}), ElementsAre(0, 1));
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 50, 51, 52));
  EXPECT_THAT(tokens.group(1), ElementsAre(52));
  EXPECT_THAT(tokens.see(std::vector<Token>{52, 7}), IsEmpty());
}

TEST(DraftedTokens, forgets_the_oldest_group_for_new_ones) {
  DraftedTokens tokens = some();
  tokens.see(std::vector<Token>{50, 51, 52, 53});
  EXPECT_THAT(tokens.see(std::vector<Token>{54}), ElementsAre(0));
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 54, 52, 53));
  EXPECT_THAT(tokens.see(std::vector<Token>{50}), ElementsAre(0));
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 54, 50, 52, 53));
}

TEST(DraftedTokens, has_its_room_and_no_more_of_a_long_text) {
  DraftedTokens tokens = some();
  std::vector<Token> text;
  for (Token token = 8; token < 100; ++token) text.push_back(token);
  tokens.see(text);
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 96, 97, 98, 99));
}

TEST(DraftedTokens, leaves_out_what_the_vocabulary_has_not) {
  DraftedTokens tokens = some();
  EXPECT_THAT(tokens.see(std::vector<Token>{100, kNoToken, 1 << 30}), IsEmpty());
}

TEST(DraftedTokens, an_empty_group_is_filled_again) {
  DraftedTokens tokens = some();
  tokens.see(std::vector<Token>{50, 51, 52});
  tokens.empty_group(0);
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 52));
  tokens.see(std::vector<Token>{50});
  EXPECT_THAT(tokens.list(), ElementsAre(7, 3, 52, 50));
}

TEST(DraftedTokens, a_map_of_its_own_stays_as_it_is) {
  DraftedTokens tokens({7, 3}, 100, {});
  EXPECT_THAT(tokens.see(std::vector<Token>{50}), IsEmpty());
  EXPECT_EQ(tokens.most(), 2);
}

TEST(DraftedTokens, small_vocabularies_are_proposed_whole) {
  EXPECT_FALSE(DraftedTokens::usual(32000));
  const auto usual = DraftedTokens::usual(151936);
  ASSERT_TRUE(usual);
  EXPECT_LT(usual->most(), 151936 / 8);
}

}  // namespace
}  // namespace foretoken
