#include "draft/from_text/ngram/corpus.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/index.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<Token> followers(const Corpus& corpus, const Corpus::Match& match) {
  std::vector<Token> tokens;
  for (const std::int32_t place : match.places) tokens.push_back(corpus.at_place(place));
  return tokens;
}

TEST(Corpus, finds_what_followed_the_longest_end) {
  const Corpus corpus({1, 2, 3, 4, kDocumentEnd, 9, 2, 3, 5, 2, 3, 6});
  const std::vector<Token> long_one{7, 1, 2, 3}, short_one{8, 2, 3}, never{8};
  const auto one = corpus.find(long_one, 1, 10);
  EXPECT_EQ(one.context, 3);
  EXPECT_THAT(followers(corpus, one), ElementsAre(4));
  const auto many = corpus.find(short_one, 1, 10);
  EXPECT_EQ(many.context, 2);
  EXPECT_THAT(followers(corpus, many), UnorderedElementsAre(4, 5, 6));
  EXPECT_THAT(corpus.find(never, 1, 10).places, IsEmpty());
  EXPECT_EQ(corpus.num_tokens(), 11);
}

TEST(Corpus, bounds_of_the_length_are_kept) {
  const Corpus corpus({1, 2, 3, 4, 8, 3, 5});
  const std::vector<Token> text{1, 2, 3};
  EXPECT_EQ(corpus.find(text, 1, 1).context, 1);
  EXPECT_THAT(followers(corpus, corpus.find(text, 1, 1)), UnorderedElementsAre(4, 5));
  const std::vector<Token> other{9, 2, 3};
  EXPECT_EQ(corpus.find(other, 2, 8).context, 2);
  EXPECT_THAT(corpus.find(other, 3, 8).places, IsEmpty());
  EXPECT_THAT(corpus.find({}, 1, 8).places, IsEmpty());
}

TEST(Corpus, documents_do_not_run_into_each_other) {
  const Corpus corpus({1, 2, kDocumentEnd, 3, 4, kDocumentEnd});
  const std::vector<Token> text{1, 2}, first{2, 3};
  EXPECT_THAT(corpus.find(text, 1, 8).places, IsEmpty()) << "nothing follows in its document";
  EXPECT_EQ(corpus.find(first, 1, 8).context, 1);
}

TEST(Corpus, agrees_with_a_plain_search) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<Token> tokens;
    for (int i = 0; i < 300; ++i)
      tokens.push_back(random() % 20 == 0 ? kDocumentEnd : static_cast<Token>(random() % 4));
    const Corpus corpus(tokens);
    std::vector<Token> text;
    for (int i = 0; i < 12; ++i) text.push_back(static_cast<Token>(random() % 4));
    int longest = 0;
    std::vector<std::int32_t> places;
    for (int place = 0; place < 300; ++place) {
      if (tokens[at(place)] == kDocumentEnd) continue;
      int agreed = 0;
      while (agreed < 12 && agreed < place &&
             tokens[at(place - agreed - 1)] == text[at(11 - agreed)])
        ++agreed;
      if (agreed > longest) places.clear();
      longest = std::max(longest, agreed);
      if (agreed == longest) places.push_back(place);
    }
    const auto match = corpus.find(text, 1, 12);
    std::vector<std::int32_t> found(match.places.begin(), match.places.end());
    std::ranges::sort(found);
    EXPECT_EQ(match.context, longest);
    EXPECT_EQ(found, places);
  }
}

// Many places, of which some agree in all that is compared: as one sort by all of it.
TEST(Corpus, places_are_in_order_of_what_precedes_them) {
  std::mt19937 random(5);
  for (const unsigned kinds : {1U, 2U, 300U}) {
    std::vector<Token> tokens(20'000, 0);
    for (Token& token : tokens)
      token = random() % 500 == 0 ? kDocumentEnd : static_cast<Token>(random() % kinds);
    std::vector<std::int32_t> places;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] != kDocumentEnd) places.push_back(static_cast<std::int32_t>(i));
    std::vector<std::int32_t> sorted = places;
    std::ranges::sort(sorted, [&](std::int32_t a, std::int32_t b) {
      for (int distance = 1; distance <= kMostCorpusContext; ++distance) {
        const Token x = token_before(tokens, a, distance), y = token_before(tokens, b, distance);
        if (x != y) return x < y;
        if (x == kDocumentEnd) break;
      }
      return a < b;
    });
    ASSERT_TRUE(sort_places(tokens, places, nullptr));
    EXPECT_EQ(places, sorted) << kinds;
  }
}

TEST(Corpus, sorting_may_be_given_up) {
  const std::atomic<bool> is_over = true;
  const Corpus corpus({1, 2, 3}, &is_over);
  EXPECT_EQ(corpus.num_tokens(), 0);
  const std::vector<Token> text{1, 2};
  EXPECT_THAT(corpus.find(text, 1, 8).places, IsEmpty());
}

}  // namespace
}  // namespace foretoken
