// The drafter by itself: what it reads when, and which drafts it offers.
#include "draft/from_text/ngram/ngram_drafter.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/testing/text_steps.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

NgramOptions small() {
  NgramOptions options;
  options.capacity = 200'000;
  return options;
}

struct WithCorpora {
  NgramOptions options;
  std::shared_ptr<Corpora> corpora;
};

class Steps : public TextSteps<NgramDrafter, 8> {
 public:
  explicit Steps(const WithCorpora& with)
      : TextSteps(with.options, std::make_unique<DraftPace>(), with.corpora) {}
  explicit Steps(const NgramOptions& options = small(),
                 std::shared_ptr<DraftPace> pace = std::make_unique<DraftPace>())
      : TextSteps(options, std::move(pace)) {}

  void open(const SharedTokens& prompt, std::uint64_t scope = 0) {
    TextSteps::open({.tokens = prompt, .scope = scope});
  }
};

TEST(NgramDrafter, drafts_what_followed_in_the_prompt_from_the_first_step_on) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  EXPECT_THAT(steps.propose(), ElementsAre(3, 4, 5, 6, 7, 8, 9));
}

TEST(NgramDrafter, what_was_never_seen_gives_a_tree_of_one_node) {
  Steps steps;
  steps.open(counting(0, 20));
  steps.commit({}, 77);
  EXPECT_THAT(steps.propose(), ElementsAre());
}

TEST(NgramDrafter, a_tree_has_no_more_nodes_than_it_may_have) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  EXPECT_THAT(steps.propose({.nodes = 4}), ElementsAre(3, 4, 5));
  steps.trees.plant(0, 2);
  EXPECT_THAT(steps.propose({.nodes = 1}), ElementsAre());
}

TEST(NgramDrafter, a_tree_is_no_deeper_than_it_may_be) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  EXPECT_THAT(steps.propose({.depth = 2}), ElementsAre(3, 4));
}

TEST(NgramDrafter, answers_are_read_too) {
  Steps steps;
  steps.open(std::vector<Token>{1});
  for (const Token token : {2, 3, 4, 5, 1}) steps.commit({}, token);
  EXPECT_THAT(steps.propose(), ElementsAre(2, 3, 4, 5, 1));
}

TEST(NgramDrafter, accepted_drafts_are_read_in_their_order) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  ASSERT_THAT(steps.propose(), ElementsAre(3, 4, 5, 6, 7, 8, 9));
  steps.commit({1, 2}, 50);  // 3 4 50
  steps.commit({}, 3);
  steps.commit({}, 4);
  EXPECT_THAT(steps.propose().front(), 50) << "the newer of two ways on";
}

TEST(NgramDrafter, reading_a_long_prompt_is_spread_over_steps_and_begins_at_its_end) {
  constexpr int kTokens = 5000, kMostPerStep = 256;
  Steps steps;
  std::vector<Token> prompt = counting(0, kTokens);
  steps.open(prompt);
  EXPECT_EQ(steps.drafter.trie().size(), 0) << "admission reads nothing";
  const int depth = NgramOptions{}.max_depth;
  std::int64_t before = 0;
  int idle_steps = 0;
  while (true) {
    steps.idle();
    const std::int64_t read = steps.drafter.trie().size() - before;
    if (read == 0) break;
    EXPECT_LE(read, kMostPerStep * depth + 2);
    before = steps.drafter.trie().size();
    if (++idle_steps > 1) continue;
    steps.commit({}, kTokens - 100);
    EXPECT_THAT(steps.propose({.nodes = 3}), ElementsAre(kTokens - 99, kTokens - 98));
    before = steps.drafter.trie().size();
  }
  EXPECT_GE(idle_steps, kTokens / kMostPerStep - 2);
  // The beginning and the seam are known, too.
  for (const Token token : {10, kTokens - 256}) {
    steps.commit({}, token);
    EXPECT_THAT(steps.propose({.nodes = 3}), ElementsAre(token + 1, token + 2));
    steps.commit({}, 100'000 + token);
  }
  EXPECT_EQ(steps.drafter.trie().check_integrity(), "");
}

TEST(NgramDrafter, a_short_text_does_not_wait_for_long_ones) {
  Steps steps;
  steps.drafter.open(1, {.tokens = counting(100, 5000)});
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  EXPECT_THAT(steps.propose({.nodes = 3}), ElementsAre(3, 4));
}

TEST(NgramDrafter, the_prompt_of_a_request_without_drafts_is_not_read) {
  Steps steps;
  steps.drafter.open(0, {.tokens = counting(0, 5000), .wish = {.max_nodes = 1}});
  steps.idle();
  EXPECT_EQ(steps.drafter.trie().size(), 0);
}

TEST(NgramDrafter, a_sequence_that_ends_unread_is_read_no_further) {
  Steps steps;
  steps.open(counting(0, 5000));
  steps.idle();
  steps.drafter.close(0);
  const auto size = steps.drafter.trie().size();
  steps.idle();
  EXPECT_EQ(steps.drafter.trie().size(), size);
  steps.open(counting(0, 3));
  steps.commit({}, 9);
}

std::vector<Token> drafts_after_another_text(DraftIsolation isolation, std::uint64_t mine,
                                             std::uint64_t other) {
  NgramOptions options = small();
  options.isolation = isolation;
  Steps steps(options);
  steps.open(counting(0, 20), other);
  steps.idle();
  steps.drafter.close(0);
  steps.open(std::vector<Token>{4}, mine);
  steps.commit({}, 5);
  return steps.propose({.nodes = 3});
}

TEST(NgramDrafter, texts_inform_each_other_as_far_as_isolation_permits) {
  using enum DraftIsolation;
  EXPECT_THAT(drafts_after_another_text(kKey, 1, 1), ElementsAre(6, 7));
  EXPECT_THAT(drafts_after_another_text(kKey, 1, 2), ElementsAre());
  EXPECT_THAT(drafts_after_another_text(kShared, 1, 2), ElementsAre(6, 7));
  EXPECT_THAT(drafts_after_another_text(kRequest, 1, 1), ElementsAre());
}

TEST(NgramDrafter, forgets_when_it_is_told_to) {
  Steps steps;
  steps.open(counting(0, 20));
  steps.idle();
  steps.drafter.close(0);
  steps.drafter.forget();
  steps.open(std::vector<Token>{4});
  steps.commit({}, 5);
  EXPECT_THAT(steps.propose(), ElementsAre());
}

TEST(NgramDrafter, drafts_that_never_come_true_are_offered_no_more_where_they_must_pay) {
  Steps steps(small(), std::make_unique<FixedPace>(0.3F));
  std::vector<Token> prompt;
  for (int i = 0; i < 60; ++i) prompt.insert(prompt.end(), {1, 100 + i});
  steps.open(prompt);
  steps.commit({}, 1);
  int offered = 0, last = 0;
  for (int i = 0; i < 100; ++i) {  // 1, and then always something new
    last = static_cast<int>(steps.propose().size());
    offered += last;
    steps.commit({}, 1000 + i);
    steps.commit({}, 1);
  }
  EXPECT_EQ(last, 0);
  EXPECT_LT(offered, 20);
}

TEST(NgramDrafter, a_long_match_is_worth_its_row_at_first_sight) {
  Steps steps(small(), std::make_unique<FixedPace>(0.5F));
  std::vector<Token> prompt = counting(0, 100);
  for (int i = 20; i < 40; ++i) prompt.push_back(i);
  steps.open(prompt);
  steps.commit({}, 40);
  EXPECT_THAT(steps.propose({.nodes = 4}), ElementsAre(41, 42, 43));
}

TEST(NgramDrafter, where_drafting_did_not_pay_only_what_is_sure_is_offered) {
  Steps steps(small(), std::make_unique<FixedPace>(0.0F, true));
  std::vector<Token> prompt = counting(0, 100);
  for (int i = 20; i < 40; ++i) prompt.push_back(i);
  steps.open(prompt);
  steps.commit({}, 40);
  EXPECT_THAT(steps.propose({.nodes = 4}), ElementsAre(41, 42));
  steps.commit({}, 3);
  EXPECT_THAT(steps.propose({.nodes = 3}), ElementsAre()) << "one token agrees";
}

WithCorpora with_corpora(std::vector<std::vector<Token>> texts, int drafts) {
  NgramOptions options = small();
  auto corpora = std::make_shared<Corpora>(1000);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_TRUE(corpora->add(std::to_string(i), std::move(texts[i])));
  options.corpus_drafts = drafts;
  return {options, corpora};
}

TEST(NgramDrafter, corpora_draft_beside_the_text_within_their_share) {
  Steps steps(with_corpora({{30, 1, 2, 40, 41, 42, 43}}, 3));
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit({}, 2);
  EXPECT_THAT(steps.propose(), ElementsAre(3, 4, 5, 6, 40, 41, 42));
}

TEST(NgramDrafter, several_corpora_share_alike) {
  Steps steps(with_corpora({{77, 40, 41, 42}, {77, 50, 51, 52}}, 3));
  steps.open(counting(0, 20));
  steps.commit({}, 77);
  EXPECT_THAT(steps.propose(), ElementsAre(40, 41, 50));
}

TEST(NgramDrafter, corpora_that_know_nothing_have_no_share) {
  Steps steps(with_corpora({{1}, {2}, {3}, {77, 40, 41, 42}}, 3));
  steps.open(counting(0, 20));
  steps.commit({}, 77);
  EXPECT_THAT(steps.propose(), ElementsAre(40, 41, 42));
  Steps alone(with_corpora({{30, 31}}, 3));
  alone.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  alone.commit({}, 2);
  EXPECT_THAT(alone.propose(), ElementsAre(3, 4, 5, 6, 7, 8, 9));
}

TEST(NgramDrafter, corpora_that_know_more_come_first) {
  Steps steps(with_corpora({{77, 40, 41}, {19, 77, 50, 51}}, 1));
  steps.open(counting(0, 20));
  steps.commit({}, 77);
  EXPECT_THAT(steps.propose(), ElementsAre(50));
}

TEST(NgramDrafter, corpora_know_the_end_of_the_text_however_long_it_grows) {
  Steps steps(with_corpora({{200, 201, 202, 300}}, 3));
  steps.open(counting(0, 20));
  for (const Token token : counting(20, 203)) steps.commit({}, token);
  EXPECT_THAT(steps.propose(), ElementsAre(300));
}

TEST(NgramDrafter, forgetting_texts_keeps_the_corpora) {
  Steps steps(with_corpora({{77, 40}}, 3));
  steps.drafter.forget();
  steps.open(counting(0, 20));
  steps.commit({}, 77);
  EXPECT_THAT(steps.propose(), ElementsAre(40));
}

}  // namespace
}  // namespace foretoken
