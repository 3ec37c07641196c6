#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/testing/answers.h"
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
        cache(pool, config.radix_cache),
        step(*ops, model, *drafter, config.max_running_requests),
        scheduler(config, {.pool = pool,
                           .cache = cache,
                           .slots = step.slots(),
                           .max_nodes = step.max_nodes(),
                           .scratch_slots = step.scratch_slots()}) {}

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
    if (plan && plan->entries.empty()) {  // it tells who has left
      StepHandle handle = runner.launch(std::move(*plan));
      scheduler.retire(handle);
      return std::nullopt;
    }
    if (!plan) return std::nullopt;
    Facts facts{.prompt_tokens = plan->prompt_tokens, .trees = 0, .rows = 0};
    for (const StepEntry& entry : plan->entries) {
      facts.trees += entry.has_tree ? 1 : 0;
      facts.rows +=
          static_cast<int>(entry.chain.size()) + (entry.root != kNoToken ? 1
                                                  : entry.has_tree ? step.trees().size(entry.slot)
                                                                   : 0);
    }
    StepHandle handle = runner.launch(std::move(*plan));
    scheduler.retire(handle);
    EXPECT_EQ(scheduler.check_integrity(&step), "");
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
  StepRunner runner{step, false};
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

TEST(Scheduler, prompts_keep_their_quarter_from_trees_too) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 32;
  config.total_tokens = 512 * kPageTokens;
  const GuessDrafter::Options guesses{
      .max_nodes = 16, .depth = 15, .topk = 1, .truth = 0.0, .vocab = kVocab, .seed = 3};
  Bench bench(config, std::make_unique<GuessDrafter>(guesses, std::vector<std::vector<Token>>{}));
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
  Bench bench(config);
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
  Bench bench(config);
  bench.add(text(3), 50);
  bench.run();
  bench.add(text(30, 3), 2);
  bench.add(text(80, 5), 2);
  bench.add(text(20, 7), 2);
  EXPECT_EQ(bench.run()->prompt_tokens, 30);   // 80 would be cut, and 20 must not pass it
  EXPECT_EQ(bench.run()->prompt_tokens, 100);  // both
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

TEST(Scheduler, only_the_scored_rows_of_a_prompt_are_few_in_a_step) {
  EngineConfig config = small_config();
  config.chunked_prefill_size = 1024;
  Bench bench(config);
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

TEST(Scheduler, admission_keeps_pages_for_what_the_running_ones_will_write) {
  EngineConfig config = small_config();
  config.total_tokens = 8 * kPageTokens;
  for (const bool in_one_step : {false, true}) {
    const auto runs_both = [&](int tokens_to_come) {
      Bench bench(config);
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
    Bench bench(config);
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
    Bench bench(config);
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
    Bench bench(config);
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
    Bench bench(small_config(), std::move(own));
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
  Bench bench(config, std::make_unique<LopsidedDrafter>());
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
  Bench bench(config, std::make_unique<GuessDrafter>(guesses, std::vector<std::vector<Token>>{}));
  const auto a = bench.add(text(15), 17), b = bench.add(text(15, 3), 17);  // 31 stored at most
  bench.run_all();
  EXPECT_EQ(bench.scheduler.stats().retractions, 0U);
  EXPECT_GT(bench.scheduler.stats().proposed_drafts, 0U);
  EXPECT_EQ(a->take()->tokens.size(), 17U);
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
  Bench bench(config, std::make_unique<AskedDrafter>(asked));
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
  Bench bench(config, std::make_unique<AskedDrafter>(asked));
  bench.add(text(26), 7);  // 32 tokens are stored in the end, if the last one were
  std::vector<int> rows;
  while (const auto facts = bench.run()) rows.push_back(facts->rows);
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[1], 6) << "the root at 26 and the nodes up to 31";
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
  Bench bench(config);
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
  Bench running(config);
  const auto first = running.add(text(5), 50), second = running.add(text(5, 2), 50);
  running.run();
  running.run();
  const auto end = finish_of(*first);
  EXPECT_EQ(end->reason, FinishReason::kDeadline);
  EXPECT_EQ(end->message, "Request running timeout reached.");
  EXPECT_FALSE(finish_of(*second)) << "waiting has no limit";

  config.running_timeout_seconds = 0;
  config.waiting_timeout_seconds = 1e-9;
  Bench waiting(config);
  const auto late = waiting.add(text(5), 50);
  EXPECT_FALSE(waiting.run());
  EXPECT_EQ(finish_of(*late)->message, "Request waiting timeout reached.");
  EXPECT_TRUE(waiting.scheduler.is_idle());
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

// Nodes of the cache that the busiest step looks at, of steps with so many waiting on one document.
std::uint64_t most_visits(SchedulePolicy policy, int waiting, bool is_cached) {
  EngineConfig config = small_config();
  config.policy = policy;
  config.max_running_requests = 2;
  config.total_tokens = 80 * kPageTokens;
  Bench bench(config);
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
  Bench bench(config);
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

// ---- plans ahead

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

  Bench& bench;
  std::deque<StepHandle> handles = {};
};

TEST(Scheduler, who_enters_the_slot_of_one_that_left_gets_none_of_its_tokens) {
  EngineConfig config = small_config();
  config.max_running_requests = 1;
  Bench bench(config);
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
  Bench bench(small_config());
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
  Bench bench(config);
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

TEST(Scheduler, the_integrity_check_sees_a_page_that_belongs_to_nobody) {
  Bench bench(small_config());
  bench.add(text(40), 30);
  bench.run();
  const Page leaked = *bench.pool.take();
  EXPECT_NE(bench.scheduler.check_integrity(&bench.step), "");
}

TEST(Scheduler, the_integrity_check_sees_a_table_that_disagrees) {
  Bench bench(small_config());
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
  Bench bench(config);
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
  Bench bench(small_config(), std::make_unique<GuessDrafter>(guesses, truth));
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
  Bench bench(config);
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
