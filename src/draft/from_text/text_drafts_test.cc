// What of the drafts that were found is offered, and what is learned from a sampled text.
#include "draft/from_text/text_drafts.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/testing/text_steps.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

constexpr SeqSlot kSlot = 0;
constexpr int kPoor = 1, kSure = 12;  // contexts of which little and much is held at first

// A step after the other of one sequence.
class Offers {
 public:
  explicit Offers(float least = 0.3F) : pace_(least) { offers.open(kSlot); }

  // Tokens of the drafts that became nodes.
  std::vector<Token> offer(std::span<const TextDraft> drafts) {
    trees.plant(kSlot, 0);
    offers.offer(kSlot, drafts, pace_, trees);
    const auto tokens = trees.tokens(kSlot).subspan(1);
    return {tokens.begin(), tokens.end()};
  }
  TextOffers::Outcome learn(std::span<const Token> sampled) {
    std::vector<SampledToken> tokens;
    for (const Token token : sampled) tokens.emplace_back().token = token;
    return offers.learn(kSlot, tokens);
  }
  TextOffers::Outcome step(std::span<const TextDraft> drafts, const std::vector<Token>& sampled) {
    offer(drafts);
    return learn(sampled);
  }

  TextOffers offers{1};
  DraftTrees trees{1, 4};

 private:
  FixedPace pace_;
};

TextDraft draft(Token token, int parent, int context) {
  return {.token = token, .parent = parent, .context = context, .share = 1};
}

TEST(TextOffers, what_is_left_out_is_judged_and_offered_once_it_comes_true) {
  Offers steps;
  const std::array drafts{draft(7, -1, kPoor)};
  ASSERT_THAT(steps.offer(drafts), ElementsAre());
  for (int i = 0; i < 5; ++i) {
    const TextOffers::Outcome outcome = steps.step(drafts, {7});
    EXPECT_EQ(outcome.accepted, 0) << "it was no node";
  }
  EXPECT_THAT(steps.offer(drafts), ElementsAre(7));
}

TEST(TextOffers, what_comes_true_no_more_is_left_out_until_it_does_again) {
  Offers steps;
  const std::array drafts{draft(7, -1, kSure)};
  ASSERT_THAT(steps.offer(drafts), ElementsAre(7));
  for (int i = 0; i < 40; ++i) steps.step(drafts, {8});
  EXPECT_THAT(steps.offer(drafts), ElementsAre());
  for (int i = 0; i < 40; ++i) steps.step(drafts, {7});
  EXPECT_THAT(steps.offer(drafts), ElementsAre(7));
}

TEST(TextOffers, nothing_is_learned_of_a_draft_that_the_sampled_text_does_not_lead_to) {
  Offers steps;
  const std::array drafts{draft(7, -1, kSure), draft(8, 0, kPoor)};
  for (int i = 0; i < 20; ++i) {
    steps.step(drafts, {7});     // how it goes on is not known
    steps.step(drafts, {9, 8});  // the same token somewhere else
  }
  EXPECT_THAT(steps.offer(std::array{draft(8, -1, kPoor)}), ElementsAre());
}

TEST(TextOffers, offered_and_accepted_are_those_that_were_nodes) {
  Offers steps(0.0F);
  const std::array drafts{draft(1, -1, kSure), draft(2, 0, kSure), draft(3, 1, kSure),
                          draft(4, 2, kSure)};
  ASSERT_THAT(steps.offer(drafts), ElementsAre(1, 2, 3)) << "a tree has four nodes";
  const TextOffers::Outcome outcome = steps.learn(std::array<Token, 4>{1, 2, 3, 4});
  EXPECT_EQ(outcome.offered, 3);
  EXPECT_EQ(outcome.accepted, 3);
}

TEST(TextOffers, a_sequence_whose_drafts_fail_is_trusted_less_than_others) {
  TextOffers offers(2);
  DraftTrees trees(2, 4);
  FixedPace pace(0.0F);
  const std::array drafts{draft(7, -1, kSure)};
  std::array<SampledToken, 1> sampled;
  for (SeqSlot slot = 0; slot < 2; ++slot) offers.open(slot);
  const auto score = [&](SeqSlot slot) {
    trees.plant(slot, 0);
    offers.offer(slot, drafts, pace, trees);
    return trees.scores(slot)[1];
  };
  for (int i = 0; i < 10; ++i)
    for (SeqSlot slot = 0; slot < 2; ++slot) {
      score(slot);
      sampled[0].token = slot == 0 ? 7 : 9;
      offers.learn(slot, sampled);
    }
  EXPECT_GT(score(0), 1.5F * score(1));
}

}  // namespace
}  // namespace foretoken
