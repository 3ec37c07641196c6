#include "engine/admission.h"

#include <utility>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::vector<Token> pages_of(std::initializer_list<Token> values) {
  std::vector<Token> text;
  for (const Token value : values) text.insert(text.end(), kPageTokens, value);
  return text;
}

std::unique_ptr<Sequence> sequence_of(std::vector<Token> prompt, std::uint64_t arrival,
                                      int max_new_tokens = 100) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  return std::make_unique<Sequence>(std::move(request), arrival);
}

std::vector<std::uint64_t> arrivals(const std::vector<Sequence*>& order) {
  std::vector<std::uint64_t> out;
  for (const Sequence* s : order) out.push_back(s->arrival);
  return out;
}

class Admission : public testing::Test {
 protected:
  Admission() {
    std::vector<Page> pages{*pool_.take(), *pool_.take()};
    cache_.publish(pages_of({1, 2}), pages);
    queue_.push_back(sequence_of(pages_of({9, 9, 9}), 0));
    queue_.push_back(sequence_of(pages_of({1, 9, 9}), 1));
    queue_.push_back(sequence_of(pages_of({1, 2, 9}), 2));
    queue_.push_back(sequence_of(pages_of({1, 8, 9}), 3));
  }
  PagePool pool_{16};
  RadixCache cache_;
  WaitQueue queue_;
};

TEST_F(Admission, fcfs_keeps_the_order_of_the_queue) {
  EXPECT_EQ(arrivals(admission_order(queue_, SchedulePolicy::kFcfs, cache_)),
            (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST_F(Admission, lpm_puts_the_longest_cached_prefix_first_and_equals_by_arrival) {
  EXPECT_EQ(arrivals(admission_order(queue_, SchedulePolicy::kLpm, cache_)),
            (std::vector<std::uint64_t>{2, 1, 3, 0}));
}

TEST_F(Admission, lpm_lets_nobody_starve) {
  queue_[0]->times_passed = 64;
  EXPECT_EQ(arrivals(admission_order(queue_, SchedulePolicy::kLpm, cache_))[0], 0U);
}

TEST_F(Admission, lpm_puts_preempted_sequences_first) {
  queue_[3]->preempted();
  EXPECT_EQ(arrivals(admission_order(queue_, SchedulePolicy::kLpm, cache_)),
            (std::vector<std::uint64_t>{3, 2, 1, 0}));
}

TEST_F(Admission, a_prefix_is_coming_only_while_it_is_computed_and_longer_than_the_cached_one) {
  std::vector<std::unique_ptr<Sequence>> running;
  const auto waiting = sequence_of(pages_of({1, 2, 3, 4}), 9);
  EXPECT_FALSE(prefix_is_coming(*waiting, running, cache_));
  running.push_back(sequence_of(pages_of({1, 2, 9}), 5));
  EXPECT_FALSE(prefix_is_coming(*waiting, running, cache_));  // the cache has as much
  running.push_back(sequence_of(pages_of({1, 2, 3, 9}), 6));
  EXPECT_TRUE(prefix_is_coming(*waiting, running, cache_));
  running.back()->request.cache_salt = 1;
  EXPECT_FALSE(prefix_is_coming(*waiting, running, cache_));
  running.back()->request.cache_salt = 0;
  running.back()->is_planted = true;  // it decodes: all of its prompt is published
  EXPECT_FALSE(prefix_is_coming(*waiting, running, cache_));
}

TEST(OutputReserve, relaxes_step_by_step_and_tightens_to_the_observed_need) {
  OutputReserve reserve;
  const auto s = sequence_of({1}, 0, 1000);
  EXPECT_EQ(reserve.tokens(*s), 700);
  for (int i = 0; i < 2000; ++i) reserve.relax();
  EXPECT_NEAR(reserve.ratio(), 0.098, 1e-9);

  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(sequence_of({1}, 0, 1000));
  running[0]->tokens.resize(481);  // 480 of 1000 produced
  reserve.tighten(running);
  EXPECT_NEAR(reserve.ratio(), 0.5, 1e-9);
}

}  // namespace
}  // namespace foretoken
