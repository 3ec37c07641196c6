#include "draft/from_text/suffix/suffix_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;

class SuffixGrowthTest : public testing::Test {
 protected:
  // The text itself, in a tree of its own.
  std::vector<Token> grow(const std::vector<Token>& text, int most, SuffixShape shape = {}) {
    const auto id = trees_.begin(trees_.plant());
    for (const Token token : text) trees_.append(id, token);
    SuffixGrowth growth(shape);
    const SuffixGrowth::Source own{&trees_.end_of(id), 1};
    drafts_.clear();
    for (const TextDraft& draft : growth.grow(trees_, {&own, 1}, most)) drafts_.push_back(draft);
    score_ = growth.score();
    std::vector<Token> tokens;
    for (const TextDraft& draft : drafts_) tokens.push_back(draft.token);
    return tokens;
  }

  SuffixTrees trees_{10'000, 8};
  std::vector<TextDraft> drafts_;
  float score_ = 0;
};

TEST_F(SuffixGrowthTest, as_many_tokens_are_drafted_as_agree) {
  EXPECT_THAT(grow({1, 2, 3, 4, 5, 6, 1}, 20), ElementsAre(2));
  EXPECT_THAT(grow({1, 2, 3, 4, 5, 6, 1, 2, 3}, 20), ElementsAre(4, 5, 6));
  EXPECT_FLOAT_EQ(score_, 3);
  EXPECT_THAT(grow({1, 2, 3, 4, 5, 6, 9}, 20), ElementsAre());
}

TEST_F(SuffixGrowthTest, the_factor_makes_them_more_or_fewer) {
  const std::vector<Token> text{1, 2, 3, 4, 5, 6, 1, 2};
  EXPECT_THAT(grow(text, 20, {.factor = 2}), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(grow(text, 20, {.factor = 0.5F}), ElementsAre(3));
  EXPECT_THAT(grow(text, 20, {.factor = 0.4F}), ElementsAre());
  EXPECT_THAT(grow(text, 1), ElementsAre(3));
}

TEST_F(SuffixGrowthTest, beyond_the_depth_of_the_tree_agreement_still_counts) {
  std::vector<Token> text;
  for (int pass = 0; pass < 2; ++pass)
    for (Token token = 0; token < (pass == 0 ? 60 : 20); ++token) text.push_back(token);
  EXPECT_EQ(grow(text, 30).size(), 20U);
  EXPECT_EQ(drafts_.front().token, 20);
  EXPECT_EQ(drafts_.front().context, 20);
  EXPECT_EQ(drafts_.back().token, 39);
  EXPECT_EQ(drafts_.back().context, 39);
  EXPECT_EQ(drafts_.back().parent, 18);
}

// After 1 2: once 7, twice 8, of which once 9 followed.
TEST_F(SuffixGrowthTest, what_followed_most_often_is_drafted_and_scored_by_its_chance) {
  EXPECT_THAT(grow({5, 1, 2, 7, 6, 1, 2, 8, 9, 3, 1, 2, 8, 4, 5, 1, 2}, 20, {.factor = 2}),
              ElementsAre(7, 6, 1, 2, 8, 9));  // three tokens agree: 5 1 2
  EXPECT_FLOAT_EQ(score_, 6);
  EXPECT_THAT(grow({1, 2, 7, 6, 1, 2, 8, 9, 3, 1, 2, 8, 4, 5, 1, 2}, 20, {.factor = 2}),
              ElementsAre(8, 4, 5, 1));
  EXPECT_FLOAT_EQ(drafts_[0].share, 2.0F / 3);
  EXPECT_FLOAT_EQ(drafts_[1].share, 0.5F);
  EXPECT_FLOAT_EQ(score_, 2.0F / 3 + 3 * (1.0F / 3));
}

// After 1: 7, 8, 8, 7.
TEST_F(SuffixGrowthTest, of_what_followed_equally_often_the_latest_is_drafted) {
  EXPECT_THAT(grow({1, 7, 2, 1, 8, 3, 1, 8, 4, 1, 7, 5, 1}, 20), ElementsAre(7));
  EXPECT_THAT(grow({1, 8, 2, 1, 7, 3, 1, 7, 4, 1, 8, 5, 1}, 20), ElementsAre(8));
}

TEST_F(SuffixGrowthTest, what_is_improbable_is_not_drafted) {
  const std::vector<Token> text{1, 2, 7, 6, 1, 2, 8, 9, 3, 1, 2, 8, 4, 5, 1, 2};
  EXPECT_THAT(grow(text, 20, {.factor = 2, .least_probability = 0.5F}), ElementsAre(8));
  EXPECT_THAT(grow(text, 20, {.factor = 2, .least_probability = 0.7F}), ElementsAre());
}

TEST_F(SuffixGrowthTest, the_better_of_several_texts_is_drafted_from) {
  const auto tell = [&](const std::vector<Token>& tokens) {
    const auto root = trees_.plant();
    const auto id = trees_.begin(root);
    for (const Token token : tokens) trees_.append(id, token);
    return root;
  };
  const auto first = tell({1, 2, 3, 4, 5, 6}), second = tell({9, 1, 2, 7, 7, 7, 7});
  SuffixTrees::Cursor in_first, in_second;
  in_first.start(trees_.place_of(first));
  in_second.start(trees_.place_of(second));
  SuffixGrowth growth({});
  const auto from = [&](Token token) {
    trees_.advance(in_first, token);
    trees_.advance(in_second, token);
    const std::array<SuffixGrowth::Source, 2> sources{{{&in_first, 0}, {&in_second, 0}}};
    growth.grow(trees_, sources, 10);
    return growth.source();
  };
  EXPECT_EQ(from(9), 1U);
  EXPECT_EQ(from(1), 1U);
  EXPECT_EQ(from(8), 1U) << "nothing new";
  EXPECT_EQ(from(1), 0U) << "both are as good";
}

}  // namespace
}  // namespace foretoken
