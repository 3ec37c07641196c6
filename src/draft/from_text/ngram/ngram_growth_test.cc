#include "draft/from_text/ngram/ngram_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/tree.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NgramGrowthTest : public testing::Test {
 protected:
  void tell(const std::vector<Token>& text) { end_of(text); }

  NgramTrie::Cursor end_of(const std::vector<Token>& text) {
    NgramTrie::Cursor cursor;
    cursor.start(0);
    for (const Token token : text) trie_.append(cursor, token);
    return cursor;
  }

  std::vector<TextDraft> grow(const NgramShape& shape, const std::vector<Token>& text, int most,
                              int depth = kMaxTreeNodes) {
    return grow(shape, end_of(text), most, depth);
  }

  std::vector<TextDraft> grow(const NgramShape& shape, const NgramTrie::Cursor& end, int most,
                              int depth) {
    NgramGrowth growth(shape);
    DraftList list;
    growth.grow(trie_, end, most, depth, list);
    const auto drafts = list.drafts();
    return {drafts.begin(), drafts.end()};
  }

  // Level by level, the drafts found last first: the order in which SGLang lists its trees.
  static std::vector<Token> levels(const std::vector<TextDraft>& drafts) {
    std::vector<Token> tokens;
    std::vector<int> level{-1};
    while (!level.empty()) {
      std::vector<int> next;
      for (const int parent : level)
        for (int i = static_cast<int>(drafts.size()); i-- > 0;)
          if (drafts[at(i)].parent == parent) next.push_back(i);
      for (const int i : next) tokens.push_back(drafts[at(i)].token);
      level = std::move(next);
    }
    return tokens;
  }

  static std::vector<Token> tokens_of(const std::vector<TextDraft>& drafts) {
    std::vector<Token> tokens;
    for (const TextDraft& draft : drafts) tokens.push_back(draft.token);
    return tokens;
  }

  NgramTrie trie_{100'000, 12};
};

// What SGLang's trees hold for the same texts (8 nodes with the root), less the root and what it
// fills them up with.
class Vectors : public NgramGrowthTest {
 protected:
  Vectors() {
    tell({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    tell({1, 2, 3, 44, 55, 66, 77, 88, 99, 100});
  }
  static NgramShape shape(NgramShape::Order order) {
    return {.min_window = 1, .max_window = 12, .min_breadth = 1, .max_breadth = 8, .order = order};
  }
};

TEST_F(Vectors, newest_first) {
  const auto newest = shape(NgramShape::Order::kNewest);
  EXPECT_THAT(levels(grow(newest, {1, 2, 3}, 7)), ElementsAre(4, 44, 5, 55, 6, 66, 77));
  EXPECT_THAT(levels(grow(newest, {3, 44}, 7)), ElementsAre(55, 66, 77, 88, 99, 100));
  EXPECT_THAT(grow(newest, {1, 2, 3, 1000}, 7), IsEmpty());
}

TEST_F(Vectors, most_frequent_first) {
  const auto frequent = shape(NgramShape::Order::kMostFrequent);
  EXPECT_THAT(levels(grow(frequent, {1, 2, 3}, 7)), ElementsAre(44, 4, 55, 5, 66, 6, 7));
  EXPECT_THAT(levels(grow(frequent, {3, 44}, 7)), ElementsAre(55, 66, 77, 88, 99, 100));
  EXPECT_THAT(grow(frequent, {1, 2, 3, 1000}, 7), IsEmpty());
}

TEST_F(Vectors, no_deeper_than_they_may_be) {
  const auto newest = shape(NgramShape::Order::kNewest);
  EXPECT_THAT(levels(grow(newest, {1, 2, 3}, 7, 1)), ElementsAre(4, 44));
  EXPECT_THAT(levels(grow(newest, {1, 2, 3}, 7, 2)), ElementsAre(4, 44, 5, 55));
  const auto frequent = shape(NgramShape::Order::kMostFrequent);
  EXPECT_THAT(levels(grow(frequent, {1, 2, 3}, 7, 1)), ElementsAre(44, 4));
  EXPECT_THAT(levels(grow(frequent, {1, 2, 3}, 7, 2)), ElementsAre(44, 4, 55, 5));
}

TEST_F(NgramGrowthTest, any_beginning_of_the_drafts_is_the_tree_of_that_size) {
  tell({1, 2, 3, 1, 2, 4, 1, 2, 5, 6, 2, 3, 7, 2, 8, 9, 1, 2, 3, 4, 5, 6, 7});
  for (const auto order : {NgramShape::Order::kNewest, NgramShape::Order::kMostFrequent}) {
    NgramShape shape;
    shape.order = order;
    const NgramTrie::Cursor end = end_of({9, 1, 2});
    const auto all = tokens_of(grow(shape, end, 20, 20));
    ASSERT_EQ(all.size(), 20U);
    for (int most = 1; most < 20; ++most) {
      const auto drafts = grow(shape, end, most, most);
      ASSERT_EQ(drafts.size(), at(most));
      for (std::size_t i = 0; i < drafts.size(); ++i) {
        EXPECT_EQ(drafts[i].token, all[i]);
        EXPECT_LT(drafts[i].parent, static_cast<int>(i));
      }
    }
  }
}

TEST_F(NgramGrowthTest, equal_paths_of_several_anchors_are_one_and_go_on_where_the_longest_end) {
  std::vector<Token> text;
  for (Token token = 1; token <= 40; ++token) text.push_back(token);
  tell(text);
  // The trie ends 12 tokens after a run's first; the anchor of one token sees 11 further ones.
  NgramShape shape{.min_window = 1, .max_window = 12, .min_breadth = 1, .max_breadth = 1};
  const auto drafts = grow(shape, {3, 4, 5, 6, 7, 8}, 30);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    EXPECT_EQ(drafts[i].parent, static_cast<int>(i) - 1);
    EXPECT_EQ(drafts[i].share, 1.0F);
  }
  EXPECT_EQ(drafts.front().context, 6);
  EXPECT_EQ(drafts[5].context, 11);
  EXPECT_EQ(drafts[6].context, 11) << "found by the anchor of five tokens";
}

TEST_F(NgramGrowthTest, windows_limit_the_ends_that_are_looked_up) {
  tell({1, 2, 3, 7, 2, 3, 8, 3, 9});
  NgramShape shape{.min_window = 2, .max_window = 2, .min_breadth = 5, .max_breadth = 5};
  auto first = [&] {
    std::vector<Token> tokens;
    for (const TextDraft& draft : grow(shape, {1, 2, 3}, 20))
      if (draft.parent < 0) tokens.push_back(draft.token);
    return tokens;
  };
  EXPECT_THAT(first(), ElementsAre(8, 7));
  shape.max_window = 3;
  EXPECT_THAT(first(), ElementsAre(7, 8));
  shape.min_window = 1;
  EXPECT_THAT(first(), ElementsAre(7, 8, 9));
}

TEST_F(NgramGrowthTest, long_anchors_are_narrow_and_short_ones_wide) {
  for (Token token = 10; token < 20; ++token) tell({1, token});
  NgramShape shape{.min_window = 1, .max_window = 4, .min_breadth = 1, .max_breadth = 9};
  EXPECT_EQ(grow(shape, {1}, 30).size(), 7U);  // 1 + 3 * (9 - 1) / 4
  shape.max_window = 1;
  EXPECT_EQ(grow(shape, {1}, 30).size(), 1U);
}

TEST_F(NgramGrowthTest, shares_say_how_often_a_token_followed) {
  tell({1, 2, 1, 2, 1, 3, 1, 2});
  NgramShape shape{.min_window = 1, .max_window = 1, .min_breadth = 9, .max_breadth = 9};
  const auto drafts = grow(shape, {1}, 2);
  ASSERT_EQ(drafts.size(), 2U);
  EXPECT_EQ(drafts[0].token, 2);
  EXPECT_FLOAT_EQ(drafts[0].share, 0.75F);
  EXPECT_FLOAT_EQ(drafts[1].share, 0.25F);
}

}  // namespace
}  // namespace foretoken
