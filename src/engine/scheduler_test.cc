#include "engine/scheduler.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"

namespace foretoken {
namespace {

constexpr std::int64_t kVocab = 64;

// A scheduler and a step driven by hand, one step at a time.
struct Bench {
  explicit Bench(const EngineConfig& wanted, std::unique_ptr<Drafter> own = make_null_drafter())
      : config(wanted),
        drafter(std::move(own)),
        model(*ops, config.total_tokens / kPageTokens, kVocab),
        pool(config.total_tokens / kPageTokens),
        cache(config.radix_cache),
        step(*ops, model, *drafter, config.max_running_requests),
        scheduler(config, {.pool = pool,
                           .cache = cache,
                           .table = step.table(),
                           .trees = step.trees(),
                           .drafter = *drafter}) {}

  std::shared_ptr<TokenStream> add(std::vector<Token> prompt, int max_new_tokens,
                                   const std::string& id = {}) {
    Request request;
    request.id = id;
    request.prompt = std::move(prompt);
    request.max_new_tokens = max_new_tokens;
    return add(std::move(request));
  }

  std::shared_ptr<TokenStream> add(Request request) {
    request.stream = std::make_shared<TokenStream>();
    auto stream = request.stream;
    scheduler.add(std::move(request));
    return stream;
  }

  // The plan's facts of one step; nullopt when there was none.
  struct Facts {
    int prompt_tokens = 0;
    int trees = 0;
    int rows = 0;
  };
  std::optional<Facts> run() {
    auto plan = scheduler.plan();
    if (!plan) return std::nullopt;
    Facts facts{.prompt_tokens = plan->prompt_tokens, .trees = 0, .rows = 0};
    for (const StepEntry& entry : plan->entries) {
      facts.trees += entry.has_tree ? 1 : 0;
      facts.rows += static_cast<int>(entry.chain.size()) +
                    (entry.has_tree ? step.trees().size(entry.slot) : 0);
    }
    StepHandle handle = step.launch(std::move(*plan));
    scheduler.retire(handle);
    EXPECT_EQ(scheduler.check_integrity(), "");
    return facts;
  }

  void run_all() {
    for (int i = 0; i < 10000 && !scheduler.is_idle(); ++i) run();
    EXPECT_TRUE(scheduler.is_idle());
  }

  EngineConfig config;
  ThreadPool threads{1, false};
  std::unique_ptr<Ops> ops = make_backend({.device = "reference"}, threads);
  std::unique_ptr<Drafter> drafter;
  HashModel model;
  PagePool pool;
  RadixCache cache;
  Step step;
  Scheduler scheduler;
};

EngineConfig small_config() {
  EngineConfig config;
  config.max_running_requests = 8;
  config.total_tokens = 64 * kPageTokens;
  config.context_length = 64 * kPageTokens;
  config.chunked_prefill_size = 64;
  return config;
}

std::vector<Token> text(int size, Token first = 1) {
  std::vector<Token> tokens;
  for (int i = 0; i < size; ++i) tokens.push_back((first + i * 7) % kVocab);
  return tokens;
}

std::optional<Finish> finish_of(TokenStream& stream) {
  auto delta = stream.take();
  return delta ? delta->finish : std::nullopt;
}

TEST(Scheduler, a_long_prompt_is_cut_into_chunks_that_leave_room_for_decodes) {
  Bench bench(small_config());
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
  Bench bench(config);
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
  Bench bench(config);
  bench.add(text(60), 2);
  bench.add(text(60, 3), 2);
  bench.add(text(130, 5), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);   // the second would not fit uncut
  EXPECT_EQ(bench.run()->prompt_tokens, 60);   // nor would the third
  EXPECT_EQ(bench.run()->prompt_tokens, 100);  // longer than a step: cut after all
  EXPECT_EQ(bench.run()->prompt_tokens, 30);
}

TEST(Scheduler, a_second_request_reuses_the_pages_of_the_first) {
  Bench bench(small_config());
  bench.add(text(40), 2);
  bench.run_all();
  const auto stream = bench.add(text(40), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 40 - 2 * kPageTokens);
  EXPECT_EQ(stream->take()->cached_tokens, 2 * kPageTokens);
  EXPECT_EQ(bench.scheduler.stats().cached_prompt_tokens, 2U * kPageTokens);
}

TEST(Scheduler, the_last_prompt_token_is_computed_even_if_all_is_cached) {
  Bench bench(small_config());
  bench.add(text(2 * kPageTokens + 1), 20);
  bench.run_all();
  bench.add(text(2 * kPageTokens), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, kPageTokens);
}

TEST(Scheduler, identical_prompts_submitted_together_are_computed_once) {
  Bench bench(small_config());
  for (int i = 0; i < 3; ++i) bench.add(text(60), 4);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);
  EXPECT_EQ(bench.run()->prompt_tokens, 2 * (60 - 3 * kPageTokens));
  bench.run_all();
}

TEST(Scheduler, without_a_cache_identical_prompts_do_not_wait_for_each_other) {
  EngineConfig config = small_config();
  config.radix_cache = false;
  Bench bench(config);
  for (int i = 0; i < 2; ++i) bench.add(text(30), 4);
  EXPECT_EQ(bench.run()->prompt_tokens, 60);
}

TEST(Scheduler, scored_prompts_compute_the_rows_they_score) {
  Bench bench(small_config());
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

TEST(Scheduler, a_one_token_prompt_without_output_ends_without_a_step) {
  Bench bench(small_config());
  const auto stream = bench.add(text(1), 0);
  EXPECT_FALSE(bench.run());
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kLength);
  EXPECT_TRUE(bench.scheduler.is_idle());
}

TEST(Scheduler, when_pages_run_short_the_youngest_is_preempted_and_finishes_later) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  Bench bench(config);
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

TEST(Scheduler, proposals_are_dropped_before_anybody_is_preempted) {
  EngineConfig config = small_config();
  config.total_tokens = 4 * kPageTokens;
  const GuessDrafter::Options guesses{
      .max_nodes = 32, .depth = 31, .topk = 1, .truth = 0.0, .vocab = kVocab, .seed = 3};
  Bench bench(config, std::make_unique<GuessDrafter>(guesses, std::vector<std::vector<Token>>{}));
  const auto a = bench.add(text(15), 17), b = bench.add(text(15, 3), 17);  // 31 stored at most
  bench.run_all();
  EXPECT_EQ(bench.scheduler.stats().retractions, 0U);
  EXPECT_GT(bench.scheduler.stats().proposed_drafts, 0U);
  EXPECT_EQ(a->take()->tokens.size(), 17U);
}

TEST(Scheduler, a_request_that_cannot_grow_even_alone_fails_and_no_other_does) {
  EngineConfig config = small_config();
  config.total_tokens = 4 * kPageTokens;
  Bench bench(config);
  const Page held = *bench.pool.take();  // somebody else's: three pages are left
  const auto stream = bench.add(text(30), 30);
  const auto next = bench.add(text(5), 5);
  for (int i = 0; i < 100 && !bench.scheduler.is_idle(); ++i) {
    auto plan = bench.scheduler.plan();
    if (!plan) continue;
    StepHandle handle = bench.step.launch(std::move(*plan));
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
  Bench bench(config);
  const Page held = *bench.pool.take();
  const auto stream = bench.add(text(20), 5);
  EXPECT_FALSE(bench.scheduler.plan());
  EXPECT_EQ(finish_of(*stream)->reason, FinishReason::kOutOfMemory);
  EXPECT_TRUE(bench.scheduler.is_idle());
}

TEST(Scheduler, cancellation_takes_effect_at_the_next_step_for_running_and_waiting) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  Bench bench(config);
  const auto running = bench.add(text(20), 50), waiting = bench.add(text(20, 3), 50);
  bench.run();
  running->cancel();
  waiting->cancel();
  EXPECT_FALSE(bench.run());
  EXPECT_EQ(finish_of(*running)->reason, FinishReason::kCancelled);
  EXPECT_EQ(finish_of(*waiting)->reason, FinishReason::kCancelled);
  EXPECT_EQ(bench.scheduler.stats().aborted_requests, 2U);
  EXPECT_EQ(bench.scheduler.check_integrity(), "");
}

TEST(Scheduler, a_deadline_ends_running_and_waiting_requests) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  Bench bench(config);
  Request request;
  request.prompt = text(5);
  request.deadline = std::chrono::steady_clock::now();
  const auto late = bench.add(Request(request));
  EXPECT_FALSE(bench.run());
  EXPECT_EQ(finish_of(*late)->reason, FinishReason::kDeadline);
}

TEST(Scheduler, aborting_an_id_means_its_choices_too_and_nobody_else) {
  Bench bench(small_config());
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
  Bench bench(small_config());
  bench.add(text(40), 3);
  bench.run();
  EXPECT_FALSE(bench.scheduler.flush_cache());
  bench.run_all();
  EXPECT_GT(bench.cache.num_pages(), 0);
  EXPECT_TRUE(bench.scheduler.flush_cache());
  EXPECT_EQ(bench.pool.num_free(), bench.pool.num_pages());
}

TEST(Scheduler, lpm_does_not_let_hits_starve_a_miss) {
  EngineConfig config = small_config();
  config.policy = SchedulePolicy::kLpm;
  config.max_running_requests = 1;
  Bench bench(config);
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

TEST(Scheduler, the_integrity_check_sees_a_page_that_belongs_to_nobody) {
  Bench bench(small_config());
  bench.add(text(40), 30);
  bench.run();
  const Page leaked = *bench.pool.take();
  EXPECT_NE(bench.scheduler.check_integrity(), "");
}

TEST(Scheduler, the_integrity_check_sees_a_table_that_disagrees) {
  Bench bench(small_config());
  bench.add(text(40), 30);
  bench.run();
  ++bench.step.table().length[0];
  EXPECT_NE(bench.scheduler.check_integrity(), "");
  --bench.step.table().length[0];
  std::swap(bench.step.table().pages[0][0], bench.step.table().pages[0][1]);
  EXPECT_NE(bench.scheduler.check_integrity(), "");
}

}  // namespace
}  // namespace foretoken
