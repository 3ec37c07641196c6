// Pages run short: proposals are dropped, the youngest is preempted, one request fails.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/guess_drafter.h"
#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

TEST(Scheduler, when_pages_run_short_the_youngest_is_preempted_and_finishes_later) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  SchedulerBench bench(config);
  // Admission keeps pages for 70 % of the output; together they need 10 of the 8 pages.
  const auto old_one = bench.add(text(30), 45);
  const auto young = bench.add(text(30, 2), 45);
  bench.run_all();
  EXPECT_GT(bench.scheduler.stats().retractions, 0U);
  const auto first = old_one->take(), second = young->take();
  EXPECT_EQ(first->retractions, 0);
  EXPECT_GT(second->retractions, 0);
  EXPECT_EQ(first->tokens.size(), 45U);
  EXPECT_EQ(second->tokens.size(), 45U);
}

// Proposes long chains for all slots but the first.
class LopsidedDrafter final : public Drafter {
 public:
  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 32}; }
  void open(SeqSlot, const DraftRequest&) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override {}
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    for (std::size_t i = 0; i < slots.size(); ++i)
      for (int node = 1; slots[i] > 0 && node < limits[i].nodes; ++node)
        trees.grow(slots[i], node - 1, 7);
  }
};

TEST(Scheduler, what_was_preempted_does_not_come_back_in_the_same_step) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 128;
  config.total_tokens = 8 * kPageTokens;
  config.output_estimate_clip = 0;  // admission plans for the text alone
  SchedulerBench bench(config, std::make_unique<LopsidedDrafter>());
  bench.add(text(63), 40);
  bench.add(text(17), 40);
  // The first needs a fifth page when the second holds four, two of them for proposals: of those
  // four, three are left, and its text alone would fit again.
  std::uint64_t seen = 0;
  while (const auto facts = bench.run()) {
    const EngineStats stats = bench.scheduler.stats();
    if (stats.retractions == seen) continue;
    seen = stats.retractions;
    EXPECT_EQ(stats.queued, 1);
    EXPECT_EQ(facts->trees, 1);
    EXPECT_EQ(facts->prompt_tokens, 0);
  }
  EXPECT_GT(seen, 0U);
}

TEST(Scheduler, proposals_are_dropped_before_anybody_is_preempted) {
  EngineConfig config = small_config();
  config.total_tokens = 4 * kPageTokens;
  const GuessDrafter::Options guesses{
      .max_nodes = 32, .depth = 31, .topk = 1, .truth = 0.0, .vocab = kVocab, .seed = 3};
  SchedulerBench bench(config,
                       std::make_unique<GuessDrafter>(guesses, std::vector<std::vector<Token>>{}));
  const auto a = bench.add(text(15), 17), b = bench.add(text(15, 3), 17);  // 31 stored at most
  bench.run_all();
  EXPECT_EQ(bench.scheduler.stats().retractions, 0U);
  EXPECT_GT(bench.scheduler.stats().proposed_drafts, 0U);
  EXPECT_EQ(a->take()->tokens.size(), 17U);
}

TEST(Scheduler, a_request_that_cannot_grow_even_alone_fails_and_no_other_does) {
  EngineConfig config = small_config();
  config.total_tokens = 4 * kPageTokens;
  SchedulerBench bench(config);
  const Page held = *bench.pool.take();  // somebody else's: three pages are left
  const auto stream = bench.add(text(30), 30);
  const auto next = bench.add(text(5), 5);
  for (int i = 0; i < 100 && !bench.scheduler.is_idle(); ++i) {
    auto plan = bench.scheduler.plan();
    if (!plan) continue;
    StepHandle handle = bench.runner.launch(std::move(*plan));
    bench.scheduler.retire(handle);
  }
  const auto failed = stream->take();
  EXPECT_EQ(failed->finish->reason, FinishReason::kOutOfMemory);
  EXPECT_EQ(failed->tokens.size(), 3U * kPageTokens - 30 + 1);
  EXPECT_FALSE(failed->finish->message.empty());
  EXPECT_EQ(next->take()->finish->reason, FinishReason::kLength);
}

TEST(Scheduler, a_prompt_that_does_not_fit_even_alone_fails) {
  EngineConfig config = small_config();
  config.total_tokens = 2 * kPageTokens;
  SchedulerBench bench(config);
  const Page held = *bench.pool.take();
  const auto stream = bench.add(text(20), 5);
  EXPECT_FALSE(bench.scheduler.plan());
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kOutOfMemory);
  EXPECT_TRUE(bench.scheduler.is_idle());
}

}  // namespace
}  // namespace foretoken
