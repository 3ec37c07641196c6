#include "engine/admission.h"

#include <numeric>
#include <set>
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
                                      int max_new_tokens = 100, std::uint64_t salt = 0) {
  Request request;
  request.cache_salt = salt;
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  return std::make_unique<Sequence>(std::move(request), arrival);
}

class Admission : public testing::Test {
 protected:
  Admission() {
    const auto text = pages_of({1, 2});
    std::vector<Page> pages{*pool_.take(), *pool_.take()};
    cache_.publish(text, PrefixHashes(text), pages);
    queue(pages_of({9, 9, 9}));
    queue(pages_of({1, 9, 9}));
    queue(pages_of({1, 2, 9}));
    queue(pages_of({1, 8, 9}));
  }
  void queue(std::vector<Token> prompt) {
    auto waiting = sequence_of(std::move(prompt), arrivals_);
    const WaitPlace place = wait_place(*waiting);
    queue_.emplace(place, std::move(waiting));
    ++arrivals_;
  }
  std::vector<std::uint64_t> order(SchedulePolicy policy, std::uint64_t seed = 0) const {
    std::vector<std::uint64_t> out;
    for (const Sequence* s :
         admission_order(queue_, {.order = policy, .seed = seed}, cache_, arrivals_))
      out.push_back(s->arrival);
    return out;
  }
  bool is_coming(const Sequence& waiting, std::initializer_list<const Sequence*> computing) const {
    return prefix_is_coming(waiting, computing, cache_);
  }

  PagePool pool_{16};
  RadixCache cache_{pool_};
  WaitQueue queue_;
  std::uint64_t arrivals_ = 0;
};

using Order = std::vector<std::uint64_t>;

TEST_F(Admission, fcfs_keeps_the_order_of_the_queue) {
  EXPECT_EQ(order(SchedulePolicy::kFcfs), (Order{0, 1, 2, 3}));
}

TEST_F(Admission, lpm_puts_the_longest_cached_prefix_first_and_equals_by_arrival) {
  EXPECT_EQ(order(SchedulePolicy::kLpm), (Order{2, 1, 3, 0}));
}

TEST_F(Admission, lpm_lets_nobody_starve) {
  arrivals_ += 63;  // came and went
  EXPECT_EQ(order(SchedulePolicy::kLpm)[0], 2U);
  arrivals_ += 1;
  EXPECT_EQ(order(SchedulePolicy::kLpm)[0], 0U);
  EXPECT_EQ(order(SchedulePolicy::kRandom)[0], 0U);
}

TEST_F(Admission, lpm_puts_preempted_sequences_first) {
  queue_.at({.rank = 0, .arrival = 3})->preempted();
  EXPECT_EQ(order(SchedulePolicy::kLpm), (Order{3, 2, 1, 0}));
}

TEST_F(Admission, of_several_that_go_first_the_oldest_does) {
  for (const std::uint64_t who : {3, 2, 0}) queue_.at({.rank = 0, .arrival = who})->preempted();
  EXPECT_EQ(order(SchedulePolicy::kLpm), (Order{0, 2, 3, 1}));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(order(SchedulePolicy::kRandom, seed), (Order{0, 2, 3, 1}));
}

TEST_F(Admission, random_draws_another_order_from_another_seed) {
  std::set<Order> seen;
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Order drawn = order(SchedulePolicy::kRandom, seed);
    EXPECT_EQ(drawn, order(SchedulePolicy::kRandom, seed));
    EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 4U);
    seen.insert(drawn);
    first.insert(drawn[0]);
  }
  EXPECT_EQ(seen.size(), 24U);  // all there are
  EXPECT_EQ(first.size(), 4U);
}

TEST_F(Admission, a_long_queue_of_long_texts_is_ordered_by_a_few_probes_each) {
  std::vector<Token> document(2000 * kPageTokens, 1);
  std::iota(document.begin(), document.end(), 0);
  PagePool pool(2000);
  RadixCache cache(pool);
  std::vector<Page> pages;
  while (auto page = pool.take()) pages.push_back(std::move(*page));
  cache.publish(document, PrefixHashes(document), pages);
  document.resize(document.size() + kPageTokens, 7);
  queue_.clear();
  for (arrivals_ = 0; arrivals_ < 300; ++arrivals_) {
    auto waiting = sequence_of(document, arrivals_);
    const WaitPlace place = wait_place(*waiting);
    queue_.emplace(place, std::move(waiting));
  }
  const auto visits_of_order = [&] {
    const auto before = cache.visits();
    admission_order(queue_, {.order = SchedulePolicy::kLpm}, cache, arrivals_);
    return cache.visits() - before;
  };
  EXPECT_LE(visits_of_order(), 128U * 40);
  EXPECT_LE(visits_of_order(), 128U * 6);  // the second time it knows where to look
}

TEST_F(Admission, a_prefix_is_coming_only_while_it_is_longer_than_the_cached_one) {
  const auto waiting = sequence_of(pages_of({1, 2, 3, 4}), 9);
  EXPECT_FALSE(is_coming(*waiting, {}));
  const auto as_cached = sequence_of(pages_of({1, 2, 9}), 5);
  EXPECT_FALSE(is_coming(*waiting, {as_cached.get()}));
  const auto longer = sequence_of(pages_of({1, 2, 3, 9}), 6);
  EXPECT_TRUE(is_coming(*waiting, {as_cached.get(), longer.get()}));
  EXPECT_FALSE(is_coming(*longer, {as_cached.get()}));
  const auto salted = sequence_of(pages_of({1, 2, 3, 9}), 6, 100, 1);
  EXPECT_FALSE(is_coming(*waiting, {salted.get()}));
  // Its last token will not be stored, so its last page will not be full.
  const auto short_of_one = sequence_of(pages_of({1, 2, 3}), 7);
  EXPECT_FALSE(is_coming(*waiting, {short_of_one.get()}));
}

TEST(OutputReserve, relaxes_step_by_step_and_tightens_to_the_observed_need) {
  OutputReserve reserve(4096);
  const auto s = sequence_of({1}, 0, 1000);
  EXPECT_EQ(reserve.tokens(*s), 700);
  for (int i = 0; i < 2000; ++i) reserve.relax();
  EXPECT_NEAR(reserve.ratio(), 0.098, 1e-9);

  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(sequence_of({1}, 0, 1000));
  while (running[0]->size() < 481) running[0]->tokens.push_back(0);  // 480 of 1000 produced
  reserve.tighten(running);
  EXPECT_NEAR(reserve.ratio(), 0.5, 1e-9);
}

TEST(OutputReserve, plans_for_no_more_of_an_output_than_the_clip) {
  EXPECT_EQ(OutputReserve(100).tokens(*sequence_of({1}, 0, 1000)), 70);
  EXPECT_EQ(OutputReserve(100).tokens(*sequence_of({1}, 0, 50)), 35);
}

}  // namespace
}  // namespace foretoken
