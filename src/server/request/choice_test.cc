#include "server/request/choice.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TokenDelta delta_of(std::vector<Token> tokens) {
  TokenDelta delta;
  for (const Token token : tokens) delta.tokens.emplace_back().token = token;
  return delta;
}

// How a choice without text ends when the engine ends so.
ChoiceEnd end_of(Finish finish) {
  Choice choice(nullptr, {}, nullptr);
  TokenDelta delta = delta_of({3});
  delta.finish = std::move(finish);
  choice.absorb(std::move(delta));
  EXPECT_TRUE(choice.is_finished());
  return *choice.end();
}

TEST(Choice, an_end_that_is_no_failure_has_no_status) {
  const ChoiceEnd stop = end_of({FinishReason::kStop, 3, ""});
  EXPECT_EQ(stop.kind, ChoiceEnd::Kind::kStop);
  EXPECT_EQ(stop.matched_token, 3);
  EXPECT_EQ(end_of({FinishReason::kStop, kNoToken, ""}).matched_token, std::nullopt);
  const ChoiceEnd length = end_of({FinishReason::kLength, kNoToken, ""});
  EXPECT_EQ(length.kind, ChoiceEnd::Kind::kLength);
  EXPECT_EQ(length.status, 0);
}

TEST(Choice, a_failure_has_the_status_and_the_text_of_its_reason) {
  struct Row {
    FinishReason reason;
    int status;
    std::string message;
  };
  for (const auto& [reason, status, message] : std::vector<Row>{
           {FinishReason::kCancelled, 0, "Aborted"},
           {FinishReason::kDeadline, 503, "the request's time is over"},
           {FinishReason::kOutOfMemory, 500, "the request does not fit into the KV cache"},
           {FinishReason::kShutdown, 503, "the server is shutting down"}}) {
    const ChoiceEnd end = end_of({reason, kNoToken, ""});
    EXPECT_EQ(end.kind, ChoiceEnd::Kind::kAbort) << message;
    EXPECT_EQ(end.status, status) << message;
    EXPECT_EQ(end.message, message);
    EXPECT_EQ(end_of({reason, kNoToken, "Why."}).message, "Why.");
  }
  const ChoiceEnd damaged = end_of({FinishReason::kVoid, kNoToken, "NaN"});
  EXPECT_EQ(damaged.kind, ChoiceEnd::Kind::kAbort);
  EXPECT_EQ(damaged.status, 500);
  EXPECT_EQ(damaged.message, "NaN");
  const ChoiceEnd stuck = end_of({FinishReason::kStuck, kNoToken, "no token"});
  EXPECT_EQ(stuck.kind, ChoiceEnd::Kind::kAbort);
  EXPECT_EQ(stuck.status, 400);
  EXPECT_EQ(stuck.message, "the output cannot be continued as the request wants it: no token");
}

TEST(Choice, what_comes_after_the_end_appears_nowhere) {
  Choice choice(nullptr, {}, nullptr);
  TokenDelta first = delta_of({1, 2});
  first.prompt_scores.resize(3);
  first.cached_tokens = 5;
  choice.absorb(std::move(first));
  EXPECT_FALSE(choice.is_finished());
  TokenDelta last = delta_of({3});
  last.cached_tokens = 6;
  last.finish = Finish{FinishReason::kLength, kNoToken, ""};
  choice.absorb(std::move(last));
  TokenDelta more = delta_of({4});
  more.prompt_scores.resize(1);
  more.cached_tokens = 7;
  more.finish = Finish{FinishReason::kShutdown, kNoToken, ""};
  choice.absorb(std::move(more));
  EXPECT_EQ(choice.tokens().size(), 3U);
  EXPECT_EQ(choice.tokens().back().token, 3);
  EXPECT_EQ(choice.text_begin(), (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(choice.prompt_scores().size(), 3U);
  EXPECT_EQ(choice.counters().cached_tokens, 6);
  EXPECT_EQ(choice.end()->kind, ChoiceEnd::Kind::kLength);
}

}  // namespace
}  // namespace foretoken
