// Ways out of the scheduler: cancellation, deadlines, aborts; and the flush of the cache.

#include <chrono>

#include <gtest/gtest.h>

#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

TEST(Scheduler, cancellation_takes_effect_at_the_next_step_for_running_and_waiting) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  SchedulerBench bench(config);
  const auto running = bench.add(text(20), 50), waiting = bench.add(text(20, 3), 50);
  bench.run();
  running->cancel();
  waiting->cancel();
  EXPECT_FALSE(bench.run());
  const auto of_running = finish_of(*running), of_waiting = finish_of(*waiting);
  EXPECT_EQ(of_running->reason, FinishReason::kCancelled);
  EXPECT_EQ(of_running->message, "Aborted");
  EXPECT_EQ(of_waiting->reason, FinishReason::kCancelled);
  EXPECT_EQ(of_waiting->message, "Abort in waiting queue");
  EXPECT_EQ(bench.scheduler.stats().aborted_requests, 2U);
  EXPECT_EQ(bench.scheduler.check_integrity(&bench.step), "");
}

TEST(Scheduler, a_deadline_ends_running_and_waiting_requests) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  SchedulerBench bench(config);
  Request request;
  request.prompt = text(5);
  request.deadline = std::chrono::steady_clock::now();
  const auto late = bench.add(Request(request));
  EXPECT_FALSE(bench.run());
  EXPECT_EQ(finish_of(*late)->reason, FinishReason::kDeadline);
}

TEST(Scheduler, who_waits_or_runs_for_too_long_is_ended) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  config.running_timeout_seconds = 1e-9;
  SchedulerBench running(config);
  const auto first = running.add(text(5), 50), second = running.add(text(5, 2), 50);
  running.run();
  running.run();
  const auto end = finish_of(*first);
  EXPECT_EQ(end->reason, FinishReason::kDeadline);
  EXPECT_EQ(end->message, "Request running timeout reached.");
  EXPECT_FALSE(finish_of(*second)) << "waiting has no limit";

  config.running_timeout_seconds = 0;
  config.waiting_timeout_seconds = 1e-9;
  SchedulerBench waiting(config);
  const auto late = waiting.add(text(5), 50);
  EXPECT_FALSE(waiting.run());
  EXPECT_EQ(finish_of(*late)->message, "Request waiting timeout reached.");
  EXPECT_TRUE(waiting.scheduler.is_idle());
}

TEST(Scheduler, aborting_an_id_means_its_choices_too_and_nobody_else) {
  SchedulerBench bench(small_config());
  const auto whole = bench.add(text(5), 50, "req"), choice = bench.add(text(6), 50, "req_1");
  const auto other = bench.add(text(7), 50, "req_x"), longer = bench.add(text(8), 50, "req2");
  bench.run();
  bench.scheduler.abort("req");
  EXPECT_EQ(finish_of(*whole)->reason, FinishReason::kCancelled);
  EXPECT_EQ(finish_of(*choice)->reason, FinishReason::kCancelled);
  EXPECT_FALSE(finish_of(*other));
  EXPECT_FALSE(finish_of(*longer));
}

TEST(Scheduler, the_cache_is_flushed_only_when_idle) {
  SchedulerBench bench(small_config());
  bench.add(text(40), 3);
  bench.run();
  EXPECT_FALSE(bench.scheduler.flush_cache());
  bench.run_all();
  EXPECT_GT(bench.cache.num_pages(), 0);
  EXPECT_TRUE(bench.scheduler.flush_cache());
  EXPECT_EQ(bench.pool.num_free(), bench.pool.num_pages());
}

}  // namespace
}  // namespace foretoken
