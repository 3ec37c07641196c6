#include "draft/from_text/suffix/suffix_answers.h"

#include <random>

#include <gtest/gtest.h>

namespace foretoken::suffix_answers_test {
namespace {

using Tokens = std::vector<Token>;

Tokens counting(Token from, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(from + i);
  return tokens;
}

class SuffixAnswersTest : public testing::Test {
 protected:
  bool knows(std::uint64_t scope, const Tokens& run) {
    SuffixTrees::Cursor cursor;
    cursor.start(answers_.root_of(scope));
    for (const Token token : run) trees_.advance(cursor, token);
    return cursor.longest() == static_cast<int>(run.size());
  }
  void work() {
    while (answers_.work(1000) == 0) continue;
  }

  SuffixTrees trees_{2000, 8};
  SuffixAnswers answers_{trees_, 3, 250};
};

TEST_F(SuffixAnswersTest, an_answer_is_known_in_its_scope_once_it_is_read) {
  answers_.add(1, counting(10, 50));
  EXPECT_FALSE(knows(1, {12, 13}));
  EXPECT_EQ(answers_.work(20), 0);
  EXPECT_TRUE(knows(1, {12, 13}));
  EXPECT_FALSE(knows(1, {40, 41})) << "read bit by bit";
  work();
  EXPECT_TRUE(knows(1, {40, 41}));
  EXPECT_FALSE(knows(2, {12, 13}));
  EXPECT_FALSE(knows(0, {12, 13}));
}

TEST_F(SuffixAnswersTest, the_oldest_leaves_when_there_are_too_many) {
  for (const Token first : {100, 200, 300, 400}) answers_.add(1, counting(first, 20));
  work();
  EXPECT_EQ(answers_.size(), 3U);
  EXPECT_FALSE(knows(1, {100, 101}));
  for (const Token first : {200, 300, 400}) EXPECT_TRUE(knows(1, {first, first + 1}));
}

TEST_F(SuffixAnswersTest, a_scope_without_answers_takes_no_memory) {
  for (std::uint64_t scope = 0; scope < 50; ++scope)
    answers_.add(scope, counting(static_cast<Token>(scope), 4)), work();
  EXPECT_EQ(answers_.size(), 3U);
  EXPECT_FALSE(trees_.exists(answers_.root_of(46)));
  EXPECT_TRUE(trees_.exists(answers_.root_of(47)));
  EXPECT_LE(trees_.nodes(), 3 * (1 + 4 + 4));
}

TEST_F(SuffixAnswersTest, answers_make_room_for_other_texts) {
  for (const Token first : {0, 300, 600}) answers_.add(1, counting(first, 250)), work();
  EXPECT_EQ(answers_.size(), 3U);
  const auto text = trees_.begin(trees_.plant());
  for (Token token = 0; token < 1000; ++token) ASSERT_TRUE(trees_.append(text, token));
  work();
  EXPECT_LT(answers_.size(), 3U);
  EXPECT_TRUE(trees_.has_room_for(500));
}

TEST_F(SuffixAnswersTest, without_any_room_nothing_is_remembered_and_nothing_lost) {
  const auto root = trees_.plant();
  const auto text = trees_.begin(root);
  for (Token token = 0; trees_.append(text, token);) ++token;
  answers_.add(1, counting(0, 50));
  work();
  EXPECT_EQ(answers_.size(), 0U);
  while (!trees_.fell(root, 1000)) continue;
  trees_.release(text);
  EXPECT_EQ(trees_.tokens(), 0);
  EXPECT_EQ(trees_.nodes(), 0);
  answers_.add(1, counting(0, 50));
  work();
  EXPECT_TRUE(knows(1, {10, 11}));
}

TEST_F(SuffixAnswersTest, what_cannot_be_read_in_time_is_dropped) {
  answers_.add(1, counting(0, 251));
  for (int i = 0; i < 6; ++i) answers_.add(1, counting(1000 * i, 50));
  work();
  EXPECT_EQ(answers_.size(), 3U);
  EXPECT_TRUE(knows(1, {4000, 4001}));
  EXPECT_FALSE(knows(1, {5000, 5001})) << "250 tokens wait at most";
}

TEST_F(SuffixAnswersTest, months_of_answers_take_what_days_take) {
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    Tokens tokens(random() % 40);
    for (Token& token : tokens) token = static_cast<Token>(random() % 6);
    answers_.add(random() % 5, tokens);
    answers_.work(static_cast<int>(random() % 200));
    if (i % 100 != 0) continue;
    for (std::uint64_t scope = 0; scope < 5; ++scope)
      if (const auto root = answers_.root_of(scope); trees_.exists(root)) {
        ASSERT_EQ(trees_.fault_below(root.node), "");
      }
  }
  work();
  EXPECT_LE(trees_.tokens(), 3 * 40);
  EXPECT_LE(trees_.nodes(), 3 * (1 + 40 * 8));
}

}  // namespace
}  // namespace foretoken::suffix_answers_test
