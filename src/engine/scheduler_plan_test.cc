// What one step computes: chunks of prompts, scored rows, limits of trees.

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/answers.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

TEST(Scheduler, a_long_prompt_is_cut_into_chunks_that_leave_room_for_decodes) {
  SchedulerBench bench(small_config());
  bench.add(text(10), 50);
  bench.run();
  bench.add(text(150, 2), 5);
  const auto first = bench.run();
  EXPECT_EQ(first->rows, 64);
  EXPECT_EQ(first->prompt_tokens, 63);
  EXPECT_EQ(first->trees, 1);
  bench.run();
  const auto last = bench.run();
  EXPECT_EQ(last->prompt_tokens, 150 - 2 * 63);
  EXPECT_EQ(last->trees, 2);
}

TEST(Scheduler, prompts_keep_a_quarter_of_a_step_that_decodes_would_fill) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 4;
  SchedulerBench bench(config);
  for (int i = 0; i < 5; ++i) bench.add(text(1, i), 50);
  bench.run();
  bench.run();
  bench.add(text(10, 9), 5);
  const auto facts = bench.run();
  EXPECT_EQ(facts->prompt_tokens, 1);
  EXPECT_EQ(facts->trees, 5);
}

TEST(Scheduler, a_step_never_takes_more_prompt_tokens_than_allowed) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = -1;
  config.max_prefill_tokens = 100;
  SchedulerBench bench(config);
  bench.add(text(60), 2);
  bench.add(text(60, 3), 2);
  bench.add(text(130, 5), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);   // the second would not fit uncut
  EXPECT_EQ(bench.run()->prompt_tokens, 60);   // nor would the third
  EXPECT_EQ(bench.run()->prompt_tokens, 100);  // longer than a step: cut after all
  EXPECT_EQ(bench.run()->prompt_tokens, 30);
}

TEST(Scheduler, prompts_keep_their_quarter_from_trees_too) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 32;
  config.total_tokens = 512 * kPageTokens;
  const GuessDrafter::Options guesses{
      .max_nodes = 16, .depth = 15, .topk = 1, .truth = 0.0, .vocab = kVocab, .seed = 3};
  SchedulerBench bench(config,
                       std::make_unique<GuessDrafter>(guesses, std::vector<std::vector<Token>>{}));
  for (int i = 0; i < 6; ++i) bench.add(text(5, i), 500);
  bench.run();
  bench.add(text(500, 9), 5);
  for (int i = 0; i < 10; ++i) {
    const auto facts = bench.run();
    const int trees = facts->rows - facts->prompt_tokens;
    EXPECT_EQ(facts->trees, 6);
    EXPECT_EQ(facts->prompt_tokens, std::max(32 - trees, 8)) << trees << " rows of trees";
  }
}

TEST(Scheduler, no_more_run_at_once_than_allowed) {
  EngineConfig config = small_config();
  config.max_running_requests = 3;
  SchedulerBench bench(config);
  for (int i = 0; i < 10; ++i) bench.add(text(4, i), 3 + i);
  int most = 0;
  while (const auto facts = bench.run()) {
    EXPECT_LE(facts->trees, 3);
    const EngineStats stats = bench.scheduler.stats();
    EXPECT_LE(stats.running, 3);
    EXPECT_EQ(stats.running + stats.queued + static_cast<int>(stats.finished_requests), 10);
    most = std::max(most, facts->trees);
  }
  EXPECT_EQ(most, 3);
  EXPECT_EQ(bench.scheduler.stats().finished_requests, 10U);
}

TEST(Scheduler, a_prompt_that_fits_a_step_is_not_cut_where_chunking_is_off) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 0;
  config.max_prefill_tokens = 100;
  SchedulerBench bench(config);
  bench.add(text(3), 50);
  bench.run();
  bench.add(text(30, 3), 2);
  bench.add(text(80, 5), 2);
  bench.add(text(20, 7), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 30);   // 80 would be cut, and 20 must not pass it
  EXPECT_EQ(bench.run()->prompt_tokens, 100);  // both
}

TEST(Scheduler, scored_prompts_compute_the_rows_they_score) {
  SchedulerBench bench(small_config());
  bench.add(text(40), 2);
  bench.run_all();
  Request request;
  request.prompt = text(40);
  request.max_new_tokens = 0;
  request.logprob_start = kPageTokens + 1;
  const auto stream = bench.add(std::move(request));
  EXPECT_EQ(bench.run()->prompt_tokens, 39 - kPageTokens);
  const auto delta = stream->take();
  EXPECT_EQ(delta->prompt_scores.size(), 40U - kPageTokens - 1);
  EXPECT_TRUE(delta->tokens.empty());
  EXPECT_EQ(delta->finish->reason, FinishReason::kLength);
}

TEST(Scheduler, only_the_scored_rows_of_a_prompt_are_few_in_a_step) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 1024;
  SchedulerBench bench(config);
  Request request;
  request.prompt = text(600);
  request.max_new_tokens = 1;
  request.logprob_start = 400;
  const HashOracle expected = HashOracle::answer(request, kVocab);
  const auto stream = bench.add(std::move(request));
  EXPECT_EQ(bench.run()->prompt_tokens, 399 + 128);
  EXPECT_EQ(bench.run()->prompt_tokens, 73);
  const auto delta = stream->take();
  EXPECT_EQ(difference(delta->prompt_scores, expected.prompt_scores), "");
  EXPECT_EQ(difference(delta->tokens, expected.output), "");
}

TEST(Scheduler, a_one_token_prompt_without_output_ends_without_a_step) {
  SchedulerBench bench(small_config());
  const auto stream = bench.add(text(1), 0);
  EXPECT_FALSE(bench.run());
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kLength);
  EXPECT_TRUE(bench.scheduler.is_idle());
}

// Proposes nothing, and notes how deep it might have gone.
class NotingDrafter final : public Drafter {
 public:
  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 8}; }
  void open(SeqSlot, const DraftRequest&) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override {}
  void propose(std::span<const SeqSlot>, std::span<const TreeLimits> limits, DraftTrees&) override {
    for (const TreeLimits& limit : limits) depths.push_back(limit.depth);
  }

  std::vector<int> depths;
};

TEST(Scheduler, no_drafts_are_asked_for_that_could_not_become_text) {
  Request request;
  request.prompt = text(10);
  request.max_new_tokens = 5;
  const auto depths_of = [](const Request& asked) {
    auto own = std::make_unique<NotingDrafter>();
    const NotingDrafter& drafter = *own;
    SchedulerBench bench(small_config(), std::move(own));
    bench.add(Request(asked));
    bench.run_all();
    return drafter.depths;
  };
  // After the first token four are left: three drafts and what is sampled behind them.
  EXPECT_EQ(depths_of(request), (std::vector<int>{3, 2, 1}));
  const auto output = HashOracle::answer(request, kVocab).output;
  ASSERT_NE(output[0].token, output[1].token);
  request.sampling.stop_tokens = {output[1].token};
  EXPECT_EQ(depths_of(request), std::vector<int>{3});
}

// Keeps what it was allowed, and uses all of it in chains of one and the same token.
class AskedDrafter final : public Drafter {
 public:
  explicit AskedDrafter(std::vector<TreeLimits>& asked) : asked_(asked) {}
  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 8}; }
  void open(SeqSlot, const DraftRequest&) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override {}
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      asked_.push_back(limits[i]);
      for (int node = 1; node < limits[i].nodes && node <= limits[i].depth; ++node)
        trees.grow(slots[i], node - 1, 7);
    }
  }

 private:
  std::vector<TreeLimits>& asked_;
};

TEST(Scheduler, few_tokens_left_limit_the_depth_of_trees_and_not_their_nodes) {
  std::vector<TreeLimits> asked;
  EngineConfig config = small_config();
  SchedulerBench bench(config, std::make_unique<AskedDrafter>(asked));
  const auto stream = bench.add(text(15), 12);
  int left = 12;
  std::size_t steps = 0;
  while (bench.run()) {
    const auto delta = stream->take();
    ASSERT_TRUE(delta);
    left -= static_cast<int>(delta->tokens.size());
    if (left <= 1) break;
    ASSERT_EQ(asked.size(), ++steps);
    EXPECT_EQ(asked.back().nodes, 8);
    EXPECT_EQ(asked.back().depth, left - 1);
  }
  EXPECT_EQ(left, 1);
  bench.run_all();
  EXPECT_EQ(asked.size(), steps) << "nothing is drafted for the last token";
}

TEST(Scheduler, where_pages_end_trees_keep_the_nodes_that_fit) {
  std::vector<TreeLimits> asked;
  EngineConfig config = small_config();
  config.total_tokens = 2 * kPageTokens;
  SchedulerBench bench(config, std::make_unique<AskedDrafter>(asked));
  bench.add(text(26), 7);  // 32 tokens are stored in the end, if the last one were
  std::vector<int> rows;
  while (const auto facts = bench.run()) rows.push_back(facts->rows);
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[1], 6) << "the root at 26 and the nodes up to 31";
}

}  // namespace
}  // namespace foretoken
