#include <thread>

#include <gtest/gtest.h>

#include "engine/request.h"

namespace foretoken {
namespace {

SampledToken token_of(Token token) {
  SampledToken sampled;
  sampled.token = token;
  return sampled;
}

TokenDelta delta_of(std::vector<Token> tokens, int verify_steps) {
  TokenDelta delta;
  for (const Token token : tokens) delta.tokens.push_back(token_of(token));
  delta.verify_steps = verify_steps;
  return delta;
}

TEST(TokenStream, merges_what_arrived_since_the_last_take) {
  TokenStream stream;
  EXPECT_FALSE(stream.take());
  stream.push(delta_of({1, 2}, 1));
  stream.push(delta_of({3}, 2));
  const auto first = stream.take();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->tokens.size(), 3U);
  EXPECT_EQ(first->tokens[2].token, 3);
  EXPECT_EQ(first->verify_steps, 2);
  EXPECT_FALSE(first->finish);
  EXPECT_FALSE(stream.take());

  TokenDelta last = delta_of({}, 2);
  last.finish = Finish{.reason = FinishReason::kLength, .stop_token = kNoToken, .message = {}};
  stream.push(std::move(last));
  EXPECT_EQ(stream.take()->finish->reason, FinishReason::kLength);
}

TEST(TokenStream, wakes_the_consumer_after_each_push_without_holding_its_lock) {
  int wakes = 0;
  TokenStream* self = nullptr;
  TokenStream stream([&] {
    ++wakes;
    EXPECT_TRUE(self->take());  // would deadlock under the lock
  });
  self = &stream;
  stream.push(delta_of({1}, 1));
  stream.push(delta_of({2}, 2));
  EXPECT_EQ(wakes, 2);
}

TEST(TokenStream, wait_sleeps_until_the_producer_pushes) {
  TokenStream stream;
  std::thread producer([&] { stream.push(delta_of({9}, 1)); });
  EXPECT_EQ(stream.wait().tokens[0].token, 9);
  producer.join();
}

TEST(TokenStream, cancelling_is_seen_by_the_engine_and_may_be_repeated) {
  TokenStream stream;
  EXPECT_FALSE(stream.cancelled());
  stream.cancel();
  stream.cancel();
  EXPECT_TRUE(stream.cancelled());
}

TEST(TokenStreamDeathTest, pushing_after_the_finish_is_a_bug) {
  TokenStream stream;
  TokenDelta last;
  last.finish = Finish{};
  stream.push(std::move(last));
  EXPECT_DEATH(stream.push(TokenDelta{}), "after its finish");
}

}  // namespace
}  // namespace foretoken
