// The drafter by itself: what it reads when, and which drafts it offers.
#include "draft/from_text/suffix/suffix_drafter.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/testing/text_steps.h"

namespace foretoken::suffix_drafter_test {
namespace {

using testing::ElementsAre;

SuffixOptions small() {
  SuffixOptions options;
  options.capacity = 20'000;
  options.max_depth = 8;
  return options;
}

class Steps : public TextSteps<SuffixDrafter, 16> {
 public:
  explicit Steps(const SuffixOptions& options = small(),
                 std::shared_ptr<DraftPace> pace = std::make_unique<DraftPace>())
      : TextSteps(options, std::move(pace)) {}

  void open(const SharedTokens& prompt, const std::vector<Token>& prediction = {},
            std::uint64_t scope = 0) {
    TextSteps::open({.tokens = prompt,
                     .prompt_tokens = prompt.size(),
                     .scope = scope,
                     .prediction = prediction});
    idle();
  }
  // So many nodes of the chain were accepted, then this token sampled.
  void commit(int accepted, Token bonus) {
    std::vector<std::int32_t> path(at(accepted));
    std::iota(path.begin(), path.end(), 1);
    TextSteps::commit(std::move(path), bonus);
  }
  std::vector<Token> propose(int nodes = kNodes, int depth = kNodes) {
    return TextSteps::propose({.nodes = nodes, .depth = depth});
  }
};

TEST(SuffixDrafter, drafts_as_much_as_agrees_from_the_first_step_on) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  steps.commit(0, 2);
  EXPECT_THAT(steps.propose(), ElementsAre(3, 4));
  steps.commit(2, 5);
  EXPECT_THAT(steps.propose(), ElementsAre(6, 7, 8, 9, 1));
}

TEST(SuffixDrafter, what_was_never_said_gives_a_tree_of_one_node) {
  Steps steps;
  steps.open(counting(0, 20));
  steps.commit(0, 77);
  EXPECT_THAT(steps.propose(), ElementsAre());
}

TEST(SuffixDrafter, a_tree_has_no_more_nodes_than_its_budget) {
  Steps steps;
  steps.open(std::vector<Token>{1, 2, 3, 4, 5, 6, 1, 2, 3});
  steps.commit(0, 4);
  EXPECT_THAT(steps.propose(2), ElementsAre(5));
  steps.trees.plant(0, 4);
  EXPECT_THAT(steps.propose(9, 1), ElementsAre(5));
  steps.trees.plant(0, 4);
  EXPECT_THAT(steps.propose(1), ElementsAre());
}

TEST(SuffixDrafter, reading_a_long_prompt_is_spread_over_steps) {
  SuffixOptions options = small();
  options.capacity = 100'000;
  Steps steps(options);
  std::vector<Token> prompt = counting(0, 10'000);
  prompt.push_back(7);
  steps.open(prompt);
  EXPECT_LE(steps.drafter.trees().tokens(), 2048);
  steps.commit(0, 8);
  EXPECT_THAT(steps.propose(), ElementsAre()) << "its end is not known yet";
  int idle_steps = 0;
  for (std::int64_t before = -1; before != steps.drafter.trees().tokens(); ++idle_steps) {
    before = steps.drafter.trees().tokens();
    steps.idle();
  }
  EXPECT_GE(idle_steps, 3);
  steps.commit(0, 9);
  EXPECT_THAT(steps.propose(), ElementsAre(10, 11, 12));
}

TEST(SuffixDrafter, a_prediction_is_drafted_before_anything_was_said) {
  Steps steps;
  steps.open(counting(100, 120), counting(0, 50));
  EXPECT_THAT(steps.propose(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << "all of the prompt agrees";
  steps.commit(8, 8);
  EXPECT_EQ(steps.propose(), counting(9, 9 + Steps::kNodes - 1)) << "and what was said since";
  steps.commit(15, 24);
  EXPECT_EQ(steps.drafter.report(0).predictions.accepted, 23);
  EXPECT_EQ(steps.drafter.report(0).predictions.proposed, 23);
}

TEST(SuffixDrafter, where_the_answer_leaves_the_prediction_it_finds_back) {
  Steps steps;
  steps.open(counting(100, 120), counting(0, 50));
  ASSERT_EQ(steps.propose().size(), 8U);
  steps.commit(3, 77);  // 0 1 2 77
  EXPECT_EQ(steps.drafter.report(0).predictions.accepted, 3);
  EXPECT_EQ(steps.drafter.report(0).predictions.proposed, 8);
  EXPECT_THAT(steps.propose(), ElementsAre());
  steps.commit(0, 4);
  EXPECT_THAT(steps.propose(), ElementsAre(5));
  steps.commit(1, 6);
  EXPECT_THAT(steps.propose(), ElementsAre(7, 8, 9));
}

TEST(SuffixDrafter, a_request_that_goes_on_after_a_preemption_stands_where_it_was) {
  Steps steps;
  const auto prompt = counting(100, 120), prediction = counting(0, 50);
  std::vector<Token> text = prompt;
  for (Token token = 0; token < 10; ++token) text.push_back(token);
  steps.drafter.open(0, {.tokens = text, .prompt_tokens = prompt.size(), .prediction = prediction});
  steps.trees.plant(0, 9);
  EXPECT_THAT(steps.propose(5), ElementsAre(10, 11, 12, 13));
}

TEST(SuffixDrafter, only_predictions_means_that_nothing_else_is_read) {
  SuffixOptions options = small();
  options.only_predictions = true;
  Steps steps(options);
  steps.open(std::vector<Token>{1, 2, 3, 4, 1, 2, 3});
  EXPECT_EQ(steps.drafter.trees().tokens(), 0);
  EXPECT_THAT(steps.propose(), ElementsAre());
  steps.commit(0, 4);
  steps.drafter.close(0);
  steps.open(std::vector<Token>{1, 2, 3, 4, 1}, {2, 3});
  EXPECT_THAT(steps.propose(), ElementsAre(2, 3));
}

TEST(SuffixDrafter, a_step_has_no_more_drafts_than_it_may) {
  SuffixOptions options = small();
  options.most_drafts = 10;
  SuffixDrafter drafter(options, 16, 2);
  DraftTrees trees(2, 16);
  const auto prompt = counting(100, 120), prediction = counting(0, 50);
  for (const SeqSlot slot : {0, 1}) {
    drafter.open(slot, {.tokens = prompt, .prompt_tokens = 20, .prediction = prediction});
    trees.plant(slot, 119);
  }
  const std::array<SeqSlot, 2> slots{0, 1};
  const std::array<TreeLimits, 2> limits;
  drafter.propose(slots, limits, trees);
  EXPECT_EQ(trees.size(0), 1 + 8) << "as far as texts are compared";
  EXPECT_EQ(trees.size(1), 1 + 2);
  for (const SeqSlot slot : slots) trees.plant(slot, 119);
  drafter.propose(slots, limits, trees);
  EXPECT_EQ(trees.size(0), 1 + 2) << "others have their turn";
  EXPECT_EQ(trees.size(1), 1 + 8);
}

TEST(SuffixDrafter, a_short_text_waits_neither_for_long_ones_nor_for_what_is_cleared_away) {
  SuffixOptions options = small();
  options.capacity = 100'000;
  Steps steps(options);
  const std::vector<Token> mine{1, 2, 3, 4, 5, 6, 7, 8, 9, 1};
  for (const bool is_cleared_away : {false, true}) {
    steps.drafter.open(1, {.tokens = counting(100, 10'000), .prompt_tokens = 9'900});
    if (is_cleared_away) {
      for (int i = 0; i < 10; ++i) steps.idle();
      steps.drafter.close(1);
    }
    steps.open(mine);
    steps.commit(0, 2);
    EXPECT_THAT(steps.propose(), ElementsAre(3, 4)) << is_cleared_away;
    steps.drafter.close(0);
    if (!is_cleared_away) steps.drafter.close(1);
    for (int i = 0; i < 10; ++i) steps.idle();
  }
}

TEST(SuffixDrafter, of_a_request_without_drafts_only_the_answer_is_read) {
  Steps steps;
  const std::vector<Token> prompt = counting(100, 120);
  steps.drafter.open(0, {.tokens = prompt, .prompt_tokens = 20, .wish = {.max_nodes = 1}});
  steps.trees.plant(0, 119);
  for (const Token token : counting(0, 20)) steps.commit(0, token);
  EXPECT_EQ(steps.drafter.trees().tokens(), 0);
  steps.drafter.close(0);
  steps.idle();
  steps.open(std::vector<Token>{4});
  steps.commit(0, 5);
  EXPECT_EQ(steps.propose().front(), 6);
}

std::vector<Token> drafts_after_another_answer(DraftIsolation isolation, std::uint64_t mine,
                                               std::uint64_t other) {
  SuffixOptions options = small();
  options.isolation = isolation;
  Steps steps(options);
  steps.open(counting(100, 103), {}, other);
  for (const Token token : counting(0, 20)) steps.commit(0, token);
  steps.drafter.close(0);
  steps.idle();
  steps.open(std::vector<Token>{4}, {}, mine);
  steps.commit(0, 5);
  return steps.propose();
}

TEST(SuffixDrafter, answers_inform_each_other_as_far_as_isolation_permits) {
  using enum DraftIsolation;
  EXPECT_THAT(drafts_after_another_answer(kKey, 1, 1), ElementsAre(6, 7));
  EXPECT_THAT(drafts_after_another_answer(kKey, 1, 2), ElementsAre());
  EXPECT_THAT(drafts_after_another_answer(kShared, 1, 2), ElementsAre(6, 7));
  EXPECT_THAT(drafts_after_another_answer(kRequest, 1, 1), ElementsAre());
}

TEST(SuffixDrafter, prompts_and_predictions_of_others_are_not_drafted_from) {
  SuffixOptions options = small();
  options.isolation = DraftIsolation::kShared;
  Steps steps(options);
  steps.open(counting(0, 20), counting(50, 70));
  steps.commit(0, 90);
  steps.drafter.close(0);
  steps.idle();
  for (const Token token : {4, 54}) {
    steps.open(std::vector<Token>{token});
    steps.commit(0, token + 1);
    EXPECT_THAT(steps.propose(), ElementsAre());
    steps.drafter.close(0);
  }
}

TEST(SuffixDrafter, what_has_ended_is_cleared_away) {
  Steps steps;
  for (int n = 0; n < 200; ++n) {
    steps.open(counting(n, n + 300), counting(0, 100));
    steps.commit(0, 5);
    steps.drafter.close(0);
  }
  for (int n = 0; n < 100; ++n) steps.idle();
  EXPECT_EQ(steps.drafter.trees().tokens(), 0) << "answers of one token tell nothing";
  EXPECT_EQ(steps.drafter.trees().nodes(), 0);
}

// More than there is memory for: some texts are not known, and nothing else happens.
TEST(SuffixDrafter, without_memory_it_drafts_less) {
  SuffixOptions options = small();
  options.capacity = 300;
  Steps steps(options);
  std::vector<Token> prompt = counting(0, 400);
  prompt.push_back(1);
  steps.open(prompt, counting(500, 600));
  for (int i = 0; i < 5; ++i) steps.commit(0, i + 2);
  EXPECT_THAT(steps.propose(), ElementsAre());
  steps.drafter.close(0);
  for (int i = 0; i < 20; ++i) steps.idle();
  steps.open(std::vector<Token>{1, 2, 3, 1});
  steps.commit(0, 2);
  EXPECT_THAT(steps.propose(), ElementsAre(3, 1));
}

TEST(SuffixDrafter, forgets_when_it_is_told_to) {
  Steps steps;
  steps.open(counting(100, 103));
  for (const Token token : counting(0, 20)) steps.commit(0, token);
  steps.drafter.close(0);
  steps.idle();
  EXPECT_EQ(steps.drafter.answers().size(), 1U);
  steps.drafter.forget();
  EXPECT_EQ(steps.drafter.answers().size(), 0U);
  steps.open(std::vector<Token>{4});
  steps.commit(0, 5);
  EXPECT_THAT(steps.propose(), ElementsAre());
}

TEST(SuffixDrafter, drafts_that_never_come_true_are_offered_no_more_where_they_must_pay) {
  Steps steps(small(), std::make_unique<FixedPace>(0.3F));
  std::vector<Token> prompt;
  for (int i = 0; i < 60; ++i) prompt.insert(prompt.end(), {1, 100 + i, 2, 100 + i});
  steps.open(prompt);
  steps.commit(0, 1);
  std::size_t offered = 0, last = 0;
  for (int i = 0; i < 100; ++i) {  // 1, and then always something new
    last = steps.propose().size();
    offered += last;
    steps.commit(0, 1000 + i);
    steps.commit(0, 1);
  }
  EXPECT_EQ(last, 0U);
  EXPECT_LT(offered, 20U);
}

}  // namespace
}  // namespace foretoken::suffix_drafter_test
