#include "engine/sequence.h"

#include <cmath>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

Request request_of(std::vector<Token> prompt, int max_new_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  return request;
}

SampledToken token_of(Token token) {
  SampledToken sampled;
  sampled.token = token;
  return sampled;
}

// What a walk that accepts all its nodes finds.
WalkSeq walk_of(std::vector<Token> emitted) {
  WalkSeq walk;
  for (std::size_t i = 0; i < emitted.size(); ++i) {
    walk.path.push_back(static_cast<std::int32_t>(i));
    walk.emitted.push_back(token_of(emitted[i]));
  }
  return walk;
}

TEST(Sequence, waiting_ones_hold_one_prompt) {
  const Request request = request_of(std::vector<Token>(1000, 7), 5);
  const Sequence first(request, 0), second(request, 1);
  EXPECT_EQ(first.tokens.data(), second.tokens.data());
}

TEST(Sequence, the_last_prompt_token_is_the_root_of_the_first_tree) {
  Sequence s(request_of({5, 6, 7}, 4), 9);
  EXPECT_EQ(s.pending_rows(), 3);
  const StepEntry part = s.plan_prompt(1);
  EXPECT_EQ(part.owner, 9U);
  EXPECT_EQ(part.chain.size(), 1U);
  EXPECT_FALSE(part.has_tree);
  EXPECT_EQ(part.root, kNoToken);
  EXPECT_EQ(part.after_chain, 6);
  EXPECT_FALSE(s.is_rooted);
  EXPECT_EQ(s.pending_rows(), 2) << "planned, be it not computed yet";
  const StepEntry rest = s.plan_prompt(2);
  EXPECT_EQ(rest.chain.size(), 1U);
  EXPECT_TRUE(rest.has_tree);
  EXPECT_EQ(rest.root, 7);
  EXPECT_TRUE(s.is_rooted);
  EXPECT_EQ(s.pending_rows(), 0);
}

TEST(Sequence, a_decode_is_a_tree_without_a_chain) {
  Sequence s(request_of({5, 6, 7}, 4), 0);
  const StepEntry prompt = s.plan_prompt(3);
  WalkSeq walk = walk_of({9});
  EXPECT_FALSE(s.commit(prompt, walk));
  EXPECT_EQ(s.stored, 3);
  EXPECT_EQ(s.pending_rows(), 0);
  const StepEntry decode = s.plan_tree(4);
  EXPECT_TRUE(decode.chain.empty());
  EXPECT_TRUE(decode.has_tree);
  EXPECT_EQ(decode.root, kNoToken);
  EXPECT_EQ(decode.max_nodes, 4);
}

TEST(Sequence, knows_how_much_steps_in_flight_may_store) {
  Sequence s(request_of({5, 6, 7}, 9), 0);
  const StepEntry prompt = s.plan_prompt(3);
  EXPECT_EQ(s.most_stored, 3);
  const StepEntry first = s.plan_tree(4), second = s.plan_tree(4);
  EXPECT_EQ(s.most_stored, 11);
  EXPECT_EQ(s.trees_in_flight, 3);
  WalkSeq one = walk_of({9}), two = walk_of({10, 11}), three = walk_of({12, 13, 14});
  EXPECT_FALSE(s.commit(prompt, one));
  EXPECT_EQ(s.most_stored, 11);
  EXPECT_FALSE(s.commit(first, two));
  EXPECT_EQ(s.stored, 5);
  EXPECT_EQ(s.most_stored, 9);
  EXPECT_FALSE(s.commit(second, three));
  EXPECT_EQ(s.stored, 8);
  EXPECT_EQ(s.most_stored, 8);
  EXPECT_EQ(s.in_flight, 0);
}

TEST(Sequence, ends_for_sure_where_as_many_steps_are_in_flight_as_tokens_are_left) {
  Sequence s(request_of({5}, 2), 0);
  EXPECT_FALSE(s.is_sure_to_end());
  const StepEntry prompt = s.plan_prompt(1);
  EXPECT_FALSE(s.is_sure_to_end());
  s.plan_tree(1);
  EXPECT_TRUE(s.is_sure_to_end());
  WalkSeq walk = walk_of({9});
  EXPECT_FALSE(s.commit(prompt, walk));
  EXPECT_TRUE(s.is_sure_to_end());
}

TEST(Sequence, tokens_after_a_stop_token_are_cut) {
  Request request = request_of({1}, 8);
  request.sampling.stop_tokens = {42};
  Sequence s(std::move(request), 0);
  WalkSeq walk = walk_of({3, 42, 5});
  const auto finish = s.commit(s.plan_prompt(1), walk);
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kStop);
  EXPECT_EQ(finish->stop_token, 42);
  EXPECT_EQ(s.tokens, (std::vector<Token>{1, 3, 42}));
  EXPECT_EQ(s.take_delta().tokens.size(), 2U);
}

TEST(Sequence, tokens_beyond_the_limit_are_cut_and_the_stored_length_with_them) {
  Sequence s(request_of({1}, 2), 0);
  WalkSeq walk = walk_of({3, 4, 5, 6});
  const auto finish = s.commit(s.plan_prompt(1), walk);
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->reason, FinishReason::kLength);
  EXPECT_EQ(s.tokens, (std::vector<Token>{1, 3, 4}));
  EXPECT_LE(s.stored, s.size());
}

TEST(Sequence, a_stop_token_at_the_limit_is_a_stop) {
  Request request = request_of({1}, 1);
  request.sampling.stop_tokens = {42};
  Sequence s(std::move(request), 0);
  WalkSeq walk = walk_of({42});
  EXPECT_EQ(s.commit(s.plan_prompt(1), walk)->reason, FinishReason::kStop);
}

TEST(Sequence, counts_drafts_and_their_acceptance) {
  Sequence s(request_of({1}, 100), 0);
  WalkSeq first = walk_of({2});  // the end of the prompt, where nothing was drafted
  s.commit(s.plan_prompt(1), first);
  EXPECT_EQ(s.verify_steps(), 0);
  s.offered(3);
  WalkSeq two = walk_of({3, 4, 5});
  s.commit(s.plan_tree(4), two);
  s.offered(3);
  WalkSeq none = walk_of({6});
  s.commit(s.plan_tree(4), none);
  for (const TokenDelta& delta : {s.take_delta(), s.take_delta(), s.take_last_delta({})}) {
    EXPECT_EQ(delta.proposed_drafts, 6);
    EXPECT_EQ(delta.accepted_drafts, 2);
    EXPECT_EQ(delta.verify_steps, 2);
    EXPECT_EQ(delta.accept_histogram, (std::vector<int>{1, 0, 1}));
  }
}

TEST(Sequence, what_a_step_verified_goes_with_what_it_brought) {
  Sequence s(request_of({1}, 100), 0);
  const auto trace = [] { return DraftTrace{.drafts = {{}, {}, {}}, .accepted = {0, 2}}; };
  s.traced(trace(), 3);
  s.traced(trace(), 1);  // the output ended in the middle of the path
  s.traced(trace(), 0);
  const TokenDelta delta = s.take_delta();
  ASSERT_EQ(delta.traces.size(), 2U);
  EXPECT_EQ(delta.traces[0].tokens, 3);
  EXPECT_EQ(delta.traces[0].accepted, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(delta.traces[1].accepted, (std::vector<std::int32_t>{0}));
  EXPECT_TRUE(s.take_delta().traces.empty()) << "told once";
}

// Whoever ends it by a text, which the engine does not see, knows no later delta.
TEST(Sequence, what_became_of_drafts_is_known_at_any_time_and_counted_once) {
  Sequence s(request_of({1}, 100), 0);
  s.slot = 0;
  s.entered(0);
  const auto steps = [&] { return s.take_delta().drafts.steps; };
  s.drafts.steps = 3;  // since it got its slot
  EXPECT_EQ(steps(), 3);
  s.drafts.steps = 5;
  EXPECT_EQ(steps(), 5);
  s.left();
  EXPECT_EQ(steps(), 5);
  s.slot = 1;
  s.entered(0);
  s.drafts.steps = 2;
  EXPECT_EQ(steps(), 7);
  s.left();
  EXPECT_EQ(s.take_last_delta({}).drafts.steps, 7);
}

TEST(Sequence, a_request_for_no_tokens_has_no_root_and_ends_with_its_chain) {
  Sequence s(request_of({1, 2, 3}, 0), 0);
  EXPECT_EQ(s.pending_rows(), 2);
  const StepEntry entry = s.plan_prompt(2);
  EXPECT_FALSE(entry.has_tree);
  EXPECT_EQ(entry.after_chain, 3);
  WalkSeq nothing;
  EXPECT_EQ(s.commit(entry, nothing)->reason, FinishReason::kLength);
}

TEST(Sequence, scores_start_where_asked_and_the_first_token_has_none) {
  Request request = request_of({4, 5, 6, 7}, 1);
  request.logprob_start = 0;
  Sequence all(Request(request), 0);
  EXPECT_EQ(all.reusable_tokens(), 0);
  EXPECT_EQ(all.plan_prompt(2).score_from, 0);
  EXPECT_EQ(all.plan_prompt(2).score_from, 0) << "of the next chunk, while the first is in flight";
  const TokenDelta first = all.take_delta();
  ASSERT_EQ(first.prompt_scores.size(), 1U);
  EXPECT_EQ(first.prompt_scores[0].token, 4);
  EXPECT_TRUE(std::isnan(first.prompt_scores[0].logprob));

  request.logprob_start = 3;
  Sequence last(Request(request), 0);
  EXPECT_EQ(last.reusable_tokens(), 2);
  EXPECT_EQ(last.plan_prompt(2).score_from, -1);  // rows 0 and 1 predict positions 1 and 2
  EXPECT_EQ(last.plan_prompt(2).score_from, 0);
  Sequence whole(Request(request), 0);
  EXPECT_EQ(whole.plan_prompt(4).score_from, 2);

  request.logprob_start = -1;
  Sequence none(Request(request), 0);
  EXPECT_EQ(none.reusable_tokens(), 3);
  EXPECT_FALSE(none.is_scoring());
}

TEST(Sequence, scores_reported_before_a_preemption_are_not_reported_again) {
  Request request = request_of({4, 5, 6, 7}, 2);
  request.logprob_start = 1;
  Sequence s(std::move(request), 0);
  WalkSeq first;
  first.scored = {token_of(5), token_of(6)};
  s.commit(s.plan_prompt(2), first);
  EXPECT_EQ(s.take_delta().prompt_scores.size(), 2U);
  s.preempted();
  EXPECT_EQ(s.reusable_tokens(), 2);
  const StepEntry again = s.plan_prompt(4);
  EXPECT_EQ(again.score_from, 2);
  WalkSeq second = walk_of({9});
  second.scored = {token_of(7)};
  s.commit(again, second);
  const TokenDelta delta = s.take_delta();
  ASSERT_EQ(delta.prompt_scores.size(), 1U);
  EXPECT_EQ(delta.prompt_scores[0].token, 7);
  EXPECT_EQ(delta.retractions, 1);
}

}  // namespace
}  // namespace foretoken
