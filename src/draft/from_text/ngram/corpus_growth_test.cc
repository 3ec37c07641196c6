#include "draft/from_text/ngram/corpus_growth.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Token> tokens_of(const DraftList& drafts) {
  std::vector<Token> tokens;
  for (const TextDraft& draft : drafts.drafts()) tokens.push_back(draft.token);
  return tokens;
}

NgramShape shape(NgramShape::Order order) {
  NgramShape shape;
  shape.order = order;
  return shape;
}

const std::vector<Token> kText{1, 2};
// 1 2 goes on with 3 4 twice, with 3 5 once, and last with 6 7.
const Corpus& corpus() {
  static const Corpus made({1, 2, 3, 4, 9, 1, 2, 3, 4, 9, 1, 2, 3, 5, 9, 1, 2, 6, 7});
  return made;
}

void grow(CorpusGrowth& growth, const Corpus& corpus, std::span<const Token> end, int most,
          int depth, DraftList& drafts) {
  growth.grow(corpus, growth.find(corpus, end), most, depth, drafts);
}

TEST(CorpusGrowth, takes_the_most_frequent_first) {
  CorpusGrowth growth(shape(NgramShape::Order::kMostFrequent));
  DraftList drafts;
  grow(growth, corpus(), kText, 3, 2, drafts);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(3, 4, 5));
  EXPECT_EQ(drafts.drafts()[0].context, 2);
  EXPECT_FLOAT_EQ(drafts.drafts()[0].share, 0.75F);
  EXPECT_EQ(drafts.drafts()[1].parent, 0);
  EXPECT_EQ(drafts.drafts()[1].context, 3);
  EXPECT_FLOAT_EQ(drafts.drafts()[1].share, 2.0F / 3);
}

TEST(CorpusGrowth, or_the_newest_first) {
  CorpusGrowth growth(shape(NgramShape::Order::kNewest));
  DraftList drafts;
  grow(growth, corpus(), kText, 4, 2, drafts);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(6, 7, 3, 5));
}

TEST(CorpusGrowth, joins_what_is_there_already) {
  CorpusGrowth growth(shape(NgramShape::Order::kMostFrequent));
  DraftList drafts;
  drafts.add({.token = 3, .parent = -1, .context = 1, .share = 1});
  grow(growth, corpus(), kText, 2, 2, drafts);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(3, 4));
  EXPECT_EQ(drafts.drafts()[1].parent, 0);
}

TEST(CorpusGrowth, goes_no_deeper_than_asked_and_finds_nothing_where_nothing_is) {
  CorpusGrowth growth(shape(NgramShape::Order::kMostFrequent));
  DraftList drafts;
  grow(growth, corpus(), kText, 9, 1, drafts);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(3, 6));
  drafts.clear();
  grow(growth, corpus(), kText, 0, 5, drafts);
  const std::vector<Token> strange{77};
  grow(growth, corpus(), strange, 5, 5, drafts);
  grow(growth, Corpus({}), kText, 5, 5, drafts);
  EXPECT_THAT(tokens_of(drafts), IsEmpty());
}

TEST(CorpusGrowth, looks_at_few_of_many_places_from_all_over) {
  std::vector<Token> tokens;
  for (Token i = 0; i < 1000; ++i) tokens.insert(tokens.end(), {1, 2, 10 + i / 500});
  CorpusGrowth growth(shape(NgramShape::Order::kMostFrequent));
  DraftList drafts;
  grow(growth, Corpus(tokens), kText, 2, 1, drafts);
  EXPECT_THAT(tokens_of(drafts), testing::UnorderedElementsAre(10, 11));
  EXPECT_FLOAT_EQ(drafts.drafts()[0].share, 0.5F);
}

}  // namespace
}  // namespace foretoken
