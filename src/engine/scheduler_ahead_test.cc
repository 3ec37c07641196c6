// Plans that are made while earlier steps are in flight.

#include <algorithm>
#include <deque>
#include <utility>

#include <gtest/gtest.h>

#include "engine/testing/answers.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

// Launches what is planned, and retires the oldest of so many.
struct Ring {
  void plan() {
    if (auto plan = bench.scheduler.plan())
      handles.push_back(bench.runner.launch(std::move(*plan)));
  }
  void retire() {
    bench.scheduler.retire(handles.front());
    handles.pop_front();
    EXPECT_EQ(bench.scheduler.check_integrity(&bench.step), "");
  }

  SchedulerBench& bench;
  std::deque<StepHandle> handles = {};
};

TEST(Scheduler, who_enters_the_slot_of_one_that_left_gets_none_of_its_tokens) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  SchedulerBench bench(config);
  Ring ring{bench};
  const auto first = bench.add(text(10), 30);
  ring.plan();
  ring.plan();
  first->cancel();
  Request request;
  request.prompt = text(12, 5);
  request.max_new_tokens = 4;
  const auto expected = HashOracle::answer(request, kVocab);
  const auto second = bench.add(std::move(request));
  ring.plan();
  EXPECT_EQ(bench.scheduler.stats().running, 1);
  while (!ring.handles.empty()) ring.retire();
  for (int i = 0; i < 8; ++i) bench.run();
  EXPECT_EQ(collect(*first).finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(difference(collect(*second).tokens, expected.output), "");
}

TEST(Scheduler, a_text_is_computed_no_further_than_it_may_go) {
  SchedulerBench bench(small_config());
  Ring ring{bench};
  const auto stream = bench.add(text(10), 3);
  for (int i = 0; i < 5; ++i) ring.plan();
  EXPECT_EQ(ring.handles.size(), 3U) << "as many as it may have tokens";
  while (!ring.handles.empty()) ring.retire();
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kLength);
}

TEST(Scheduler, what_pages_run_short_for_waits_until_nothing_is_in_flight) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  config.output_estimate_clip = 1;
  SchedulerBench bench(config);
  Ring ring{bench};
  const auto old = bench.add(text(40), 60), young = bench.add(text(40, 2), 60);
  int most = 0;
  while (!bench.scheduler.is_idle()) {
    const auto before = bench.scheduler.stats().retractions;
    const auto in_flight = static_cast<int>(ring.handles.size());
    ring.plan();
    EXPECT_TRUE(bench.scheduler.stats().retractions == before || in_flight == 0);
    most = std::max(most, static_cast<int>(ring.handles.size()));
    if (ring.handles.size() == 3 || static_cast<int>(ring.handles.size()) == in_flight)
      ring.retire();
  }
  EXPECT_EQ(most, 3);
  EXPECT_GE(bench.scheduler.stats().retractions, 1U);
  EXPECT_EQ(collect(*old).tokens.size(), 60U);
  EXPECT_EQ(collect(*young).tokens.size(), 60U);
}

}  // namespace
}  // namespace foretoken
