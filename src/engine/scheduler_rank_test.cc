// Requests of different rank: which goes first, which is preempted, which a full queue refuses.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

std::shared_ptr<TokenStream> add(SchedulerBench& bench, std::int64_t rank, int prompt = 10,
                                 int max_new = 40) {
  Request request;
  request.prompt = text(prompt, static_cast<Token>(rank + 1));
  request.max_new_tokens = max_new;
  request.rank = rank;
  return bench.add(std::move(request));
}

EngineConfig one_slot(std::optional<std::int64_t> gap) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  config.has_ranks = true;
  config.preemption_gap = gap;
  return config;
}

int tokens_of(TokenStream& stream) {
  const auto delta = stream.take();
  return delta ? static_cast<int>(delta->tokens.size()) : 0;
}

TEST(SchedulerRank, the_lowest_goes_first_and_equals_as_they_came) {
  SchedulerBench bench(one_slot({}));
  const auto late = add(bench, 5), first = add(bench, 2), second = add(bench, 2);
  std::vector<TokenStream*> ended;
  while (!bench.scheduler.is_idle()) {
    bench.run();
    for (TokenStream* stream : {late.get(), first.get(), second.get()})
      if (finish_of(*stream)) ended.push_back(stream);
  }
  EXPECT_EQ(ended, (std::vector<TokenStream*>{first.get(), second.get(), late.get()}));
}

TEST(SchedulerRank,
     one_that_waits_takes_the_place_of_one_whose_rank_is_larger_by_more_than_the_gap) {
  for (const std::int64_t rank : {10, 9}) {
    SchedulerBench bench(one_slot(10));
    const auto running = add(bench, 20);
    bench.run();
    EXPECT_EQ(tokens_of(*running), 1);
    const auto urgent = add(bench, rank);
    bench.run();
    EXPECT_EQ(tokens_of(*urgent), rank == 9 ? 1 : 0);
    EXPECT_EQ(bench.scheduler.stats().retractions, rank == 9 ? 1U : 0U);
    bench.run_all();
    EXPECT_EQ(tokens_of(*running), 39);
  }
}

TEST(SchedulerRank, nobody_is_preempted_where_that_does_not_make_enough_room) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  config.has_ranks = true;
  config.preemption_gap = 0;
  SchedulerBench bench(config);
  add(bench, 1, 70, 40);  // keeps most pages
  bench.run();
  add(bench, 3, 10, 4);
  bench.run();
  add(bench, 2, 70, 40);
  bench.run();
  EXPECT_EQ(bench.scheduler.stats().retractions, 0U);
  bench.run_all();
}

TEST(SchedulerRank, the_last_in_rank_makes_way_first) {
  EngineConfig config = small_config();
  config.max_running_requests = 2;
  config.has_ranks = true;
  config.preemption_gap = 0;
  SchedulerBench bench(config);
  const auto last = add(bench, 7), middle = add(bench, 6);
  bench.run();
  add(bench, 1);
  bench.run();
  EXPECT_EQ(bench.scheduler.stats().retractions, 1U);
  const auto of_last = last->take(), of_middle = middle->take();
  EXPECT_GT(of_middle->tokens.size(), of_last->tokens.size());
  bench.run_all();
}

TEST(SchedulerRank, a_full_queue_loses_its_last_or_refuses_the_newest) {
  EngineConfig config = one_slot({});
  config.max_queued_requests = 2;
  SchedulerBench bench(config);
  add(bench, 1);
  bench.run();
  const auto first = add(bench, 4), second = add(bench, 5);
  const auto newest = add(bench, 5);
  ASSERT_TRUE(finish_of(*newest));
  const auto urgent = add(bench, 3);
  const auto lost = finish_of(*second);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, FinishReason::kDisplaced);
  EXPECT_EQ(lost->message, "The request is aborted by a higher priority request.");
  bench.run_all();
  EXPECT_EQ(finish_of(*first)->reason, FinishReason::kLength);
  EXPECT_EQ(finish_of(*urgent)->reason, FinishReason::kLength);
}

TEST(SchedulerRank, one_that_was_preempted_is_not_lost_by_a_full_queue) {
  EngineConfig config = one_slot(0);
  config.max_queued_requests = 1;
  SchedulerBench bench(config);
  const auto begun = add(bench, 9);
  bench.run();
  const auto urgent = add(bench, 1);
  bench.run();  // takes the place: the first one waits
  const auto newest = add(bench, 2);
  EXPECT_EQ(finish_of(*newest)->message, "The request queue is full.");
  bench.run_all();
  EXPECT_EQ(finish_of(*begun)->reason, FinishReason::kLength);
}

TEST(SchedulerPause, nothing_is_computed_and_what_was_begun_goes_on_as_it_was) {
  for (const Pause how : {Pause::kInPlace, Pause::kRetract}) {
    SchedulerBench bench(small_config());
    const auto stream = bench.add(text(40), 10);
    bench.run();
    bench.scheduler.pause(how);
    const auto late = bench.add(text(4, 9), 2);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(bench.run());
    const EngineStats stats = bench.scheduler.stats();
    EXPECT_EQ(stats.running, how == Pause::kInPlace ? 1 : 0);
    EXPECT_EQ(stats.retractions, how == Pause::kInPlace ? 0U : 1U);
    EXPECT_EQ(bench.scheduler.flush_cache(), how == Pause::kRetract);
    bench.scheduler.resume();
    bench.run_all();
    EXPECT_EQ(tokens_of(*stream), 10);
    EXPECT_EQ(tokens_of(*late), 2);
  }
}

TEST(SchedulerPause, requests_can_be_aborted) {
  SchedulerBench bench(small_config());
  const auto stream = bench.add(text(40), 10, "one");
  bench.run();
  bench.scheduler.pause(Pause::kInPlace);
  bench.scheduler.abort("one");
  bench.run();
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace foretoken
