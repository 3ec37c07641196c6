// Who is admitted: cached prefixes, pages kept for outputs, the order of the queue.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

TEST(Scheduler, a_second_request_reuses_the_pages_of_the_first) {
  SchedulerBench bench(small_config());
  bench.add(text(40), 2);
  bench.run_all();
  const auto stream = bench.add(text(40), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 40 - 2 * kPageTokens);
  EXPECT_EQ(stream->take()->cached_tokens, 2 * kPageTokens);
  EXPECT_EQ(bench.scheduler.stats().cached_prompt_tokens, 2U * kPageTokens);
}

TEST(Scheduler, the_last_prompt_token_is_computed_even_if_all_is_cached) {
  SchedulerBench bench(small_config());
  bench.add(text(2 * kPageTokens + 1), 20);
  bench.run_all();
  bench.add(text(2 * kPageTokens), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, kPageTokens);
}

TEST(Scheduler, identical_prompts_submitted_together_are_computed_once) {
  SchedulerBench bench(small_config());
  for (int i = 0; i < 3; ++i) bench.add(text(60), 4);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);
  EXPECT_EQ(bench.run()->prompt_tokens, 2 * (60 - 3 * kPageTokens));
  bench.run_all();
}

TEST(Scheduler, without_a_cache_identical_prompts_do_not_wait_for_each_other) {
  EngineConfig config = small_config();
  config.radix_cache = false;
  SchedulerBench bench(config);
  for (int i = 0; i < 2; ++i) bench.add(text(30), 4);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);
}

TEST(Scheduler, admission_keeps_pages_for_what_the_running_ones_will_write) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  for (const bool in_one_step : {false, true}) {
    const auto runs_both = [&](int tokens_to_come) {
      SchedulerBench bench(config);
      bench.add(text(30), tokens_to_come);
      if (!in_one_step) bench.run();
      bench.add(text(30, 2), 45);
      bench.run();
      return bench.scheduler.stats().running == 2;
    };
    // 70 % of the outputs are planned for. The second needs 4 pages, and 6 are free, of which the
    // first will want 2 or 3.
    EXPECT_TRUE(runs_both(45)) << in_one_step;
    EXPECT_FALSE(runs_both(65)) << in_one_step;
  }
}

TEST(Scheduler, admission_keeps_pages_for_the_output_of_the_newcomer) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  const auto runs_both = [&](int tokens_to_come, int clip) {
    config.output_estimate_clip = clip;
    SchedulerBench bench(config);
    bench.add(text(30), 2);
    bench.add(text(30, 2), tokens_to_come);
    bench.run();
    return bench.scheduler.stats().running == 2;
  };
  EXPECT_TRUE(runs_both(90, 4096));   // 30 + 63 tokens: 6 pages
  EXPECT_FALSE(runs_both(96, 4096));  // 30 + 67: 7 pages
  EXPECT_TRUE(runs_both(96, 90));
}

TEST(Scheduler, after_a_preemption_admission_plans_for_what_outputs_turned_out_to_need) {
  const auto is_admitted = [](bool pages_run_short) {
    EngineConfig config = small_config();
    config.total_tokens = 16 * kPageTokens;
    SchedulerBench bench(config);
    bench.add(text(30), 40);
    const auto young = bench.add(text(30, 2), 40);
    for (int i = 0; i < 31; ++i) bench.run();
    std::vector<Page> held;  // somebody else's
    while (pages_run_short && bench.pool.num_free() > 0) held.push_back(*bench.pool.take());
    for (int i = 0; i < 6; ++i) {
      StepHandle handle = bench.runner.launch(*bench.scheduler.plan());
      bench.scheduler.retire(handle);
    }
    EXPECT_EQ(bench.scheduler.stats().retractions, pages_run_short ? 1U : 0U);
    held.clear();
    young->cancel();
    bench.add(text(10, 3), 200);
    bench.run();
    return bench.scheduler.stats().running == 2;
  };
  // 11 pages can be had. Of the newcomer's output two thirds are planned for, 144 tokens with its
  // prompt; or all of it, 210 tokens, once the first was seen to need all of its own.
  EXPECT_TRUE(is_admitted(false));
  EXPECT_FALSE(is_admitted(true));
}

TEST(Scheduler, admission_plans_for_less_of_the_outputs_while_all_goes_well) {
  const auto is_admitted = [](int steps_before) {
    EngineConfig config = small_config();
    config.total_tokens = 12 * kPageTokens;
    SchedulerBench bench(config);
    bench.add(text(3), steps_before + 1);
    bench.run_all();
    bench.add(text(10, 2), 100);
    bench.run();
    bench.add(text(10, 3), 160);
    bench.run();
    return bench.scheduler.stats().running == 2;
  };
  // 11 pages can be had. Of 70 % of the outputs the first will want 4 more and the second 8.
  EXPECT_FALSE(is_admitted(1));
  EXPECT_TRUE(is_admitted(150));
}

TEST(Scheduler, lpm_does_not_let_hits_starve_a_miss) {
  EngineConfig config = small_config();
  config.policy = SchedulePolicy::kLpm;
  config.max_running_requests = 1;
  SchedulerBench bench(config);
  bench.add(text(40), 1);
  bench.run_all();
  const auto miss = bench.add(text(40, 5), 1);
  int served = 0;
  std::optional<TokenDelta> answer;
  for (; served < 200 && !answer; ++served) {
    bench.add(text(40), 1);
    bench.run();
    answer = miss->take();
  }
  EXPECT_TRUE(answer) << "after " << served << " others";
  EXPECT_GT(served, 32);  // hits do go first
}

// Nodes of the cache that the busiest step looks at, of steps with so many waiting on one document.
std::uint64_t most_visits(SchedulePolicy policy, int waiting, bool is_cached) {
  EngineConfig config = small_config();
  config.policy = policy;
  config.max_running_requests = 2;
  config.total_tokens = 80 * kPageTokens;
  SchedulerBench bench(config);
  const std::vector<Token> document = text(40 * kPageTokens);
  if (is_cached) {
    bench.add(document, 1);
    bench.run_all();
  }
  bench.add(text(20 * kPageTokens, 2), 100);  // keeps so many pages that few can be admitted
  for (int i = 0; i < waiting; ++i) {
    auto question = document;
    question.insert(question.end(), kPageTokens, static_cast<Token>(i % kVocab));
    bench.add(std::move(question), 30);
  }
  std::uint64_t most = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = bench.cache.visits();
    auto plan = bench.scheduler.plan();
    most = std::max(most, bench.cache.visits() - before);
    StepHandle handle = bench.runner.launch(std::move(*plan));
    bench.scheduler.retire(handle);
  }
  EXPECT_GT(bench.scheduler.stats().queued, waiting - 4);
  return most;
}

TEST(Scheduler, a_step_looks_at_no_more_of_the_cache_because_more_are_waiting) {
  for (const auto policy : {SchedulePolicy::kFcfs, SchedulePolicy::kLpm, SchedulePolicy::kRandom})
    for (const bool is_cached : {false, true})
      EXPECT_LE(most_visits(policy, 1000, is_cached), most_visits(policy, 200, is_cached) * 5 / 4)
          << "policy " << static_cast<int>(policy) << ", cached " << is_cached;
}

TEST(Scheduler, a_cached_text_is_not_walked_in_vain_by_who_must_wait) {
  EngineConfig config = small_config();
  config.total_tokens = 80 * kPageTokens;
  config.chunked_prefill_size = 1024;
  SchedulerBench bench(config);
  std::vector<Token> document = text(40 * kPageTokens);
  bench.add(document, 1);
  bench.run_all();
  bench.add(text(20 * kPageTokens, 2), 100);
  bench.run();
  // 20 pages can be had beside the document's own, which the next one reuses, and it wants 28 of
  // them besides those that the first will want.
  document.insert(document.end(), kPageTokens, 9);
  bench.add(document, 600);
  bench.run();
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = bench.cache.visits();
    StepHandle handle = bench.runner.launch(*bench.scheduler.plan());
    EXPECT_LT(bench.cache.visits() - before, 10U);
    bench.scheduler.retire(handle);
  }
  EXPECT_EQ(bench.scheduler.stats().queued, 1);
}

}  // namespace
}  // namespace foretoken
