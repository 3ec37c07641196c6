// What the scheduler counts, and what its integrity check finds.

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/scheduler_bench.h"

namespace foretoken {
namespace {

TEST(Scheduler, the_integrity_check_sees_a_page_that_belongs_to_nobody) {
  SchedulerBench bench(small_config());
  bench.add(text(40), 30);
  bench.run();
  const Page leaked = *bench.pool.take();
  EXPECT_NE(bench.scheduler.check_integrity(&bench.step), "");
}

TEST(Scheduler, the_integrity_check_sees_a_table_that_disagrees) {
  SchedulerBench bench(small_config());
  bench.add(text(40), 30);
  bench.run();
  bench.run();
  ++bench.step.table().length[0];
  EXPECT_NE(bench.scheduler.check_integrity(&bench.step), "");
  --bench.step.table().length[0];
  std::swap(bench.step.table().pages[0][0], bench.step.table().pages[0][1]);
  EXPECT_NE(bench.scheduler.check_integrity(&bench.step), "");
}

TEST(Scheduler, the_time_in_the_queue_counts_once_from_the_acceptance) {
  EngineConfig config;
  config.max_running_requests = 2;
  config.total_tokens = 8 * kPageTokens;
  config.force_preempt_every = 2;  // it is admitted again and again
  SchedulerBench bench(config);
  Request request;
  request.prompt = {1, 2, 3};
  request.max_new_tokens = 6;
  request.accepted = std::chrono::steady_clock::now() - std::chrono::seconds(7);
  const auto stream = bench.add(std::move(request));
  while (bench.run()) {
  }
  const EngineStats stats = bench.scheduler.stats();
  EXPECT_GT(stats.retractions, 0U);
  EXPECT_EQ(stats.queue_time.count(), 1U);
  EXPECT_GE(stats.queue_time.sum, 7);
}

TEST(Scheduler, drafts_are_counted_once_for_their_request_and_for_all) {
  std::vector<Request> requests(2);
  std::vector<std::vector<Token>> truth;
  for (Request& request : requests) {
    request.prompt = text(20, static_cast<Token>(truth.size()));
    request.max_new_tokens = 30;
    truth.push_back(request.prompt.to_vector());
    for (const SampledToken& token : HashOracle::answer(request, kVocab).output)
      truth.back().push_back(token.token);
  }
  const GuessDrafter::Options guesses{
      .max_nodes = 8, .depth = 4, .topk = 2, .truth = 0.8, .vocab = kVocab, .seed = 3};
  SchedulerBench bench(small_config(), std::make_unique<GuessDrafter>(guesses, truth));
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const Request& request : requests) streams.push_back(bench.add(Request(request)));
  bench.run_all();
  std::uint64_t proposed = 0, accepted = 0, verified = 0;
  for (const auto& stream : streams) {
    const auto delta = stream->take();
    proposed += static_cast<std::uint64_t>(delta->proposed_drafts);
    accepted += static_cast<std::uint64_t>(delta->accepted_drafts);
    verified += static_cast<std::uint64_t>(delta->verify_steps);
  }
  const EngineStats stats = bench.scheduler.stats();
  EXPECT_GT(accepted, 0U);
  EXPECT_EQ(stats.proposed_drafts, proposed);
  EXPECT_EQ(stats.accepted_drafts, accepted);
  EXPECT_EQ(stats.verify_steps, verified);
  EXPECT_EQ(stats.generated_tokens, 60U);
}

TEST(Scheduler, what_steps_computed_and_how_long_is_counted_by_kind) {
  EngineConfig config;
  config.max_running_requests = 2;
  config.total_tokens = 16 * kPageTokens;
  config.chunked_prefill_size = 64;
  SchedulerBench bench(config);
  bench.add(std::vector<Token>(30, 1), 5);
  bench.run();  // the prompt and the first token
  EXPECT_GT(bench.scheduler.stats().prompt_step_seconds, 0);
  EXPECT_EQ(bench.scheduler.stats().verify_time.count(), 0U);
  bench.run();  // a decode
  EXPECT_GT(bench.scheduler.stats().decode_step_seconds, 0);
  EXPECT_EQ(bench.scheduler.stats().mixed_step_seconds, 0);
  bench.add(std::vector<Token>(20, 2), 1);
  bench.run();  // a decode beside a prompt
  EXPECT_GT(bench.scheduler.stats().mixed_step_seconds, 0);
  while (bench.run()) {
  }
  const EngineStats stats = bench.scheduler.stats();
  EXPECT_EQ(stats.computed_prompt_tokens, 50U);
  EXPECT_EQ(stats.generated_tokens, 6U);
  EXPECT_EQ(stats.verify_time.count(), 4U);  // the first token came from the prompt's step
  EXPECT_EQ(stats.draft_time.count(), 4U);
  EXPECT_GE(stats.decode_step_seconds + stats.mixed_step_seconds, stats.verify_time.sum);
}

}  // namespace
}  // namespace foretoken
