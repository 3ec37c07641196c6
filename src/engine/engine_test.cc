#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "base/index.h"
#include "batch/testing/hash_constraint.h"
#include "engine/testing/answers.h"
#include "engine/testing/hash_model.h"

namespace foretoken::engine_test {
namespace {

using std::chrono::milliseconds;
constexpr std::int64_t kVocab = 64;

// A model whose logits are NaN from position `tokens` of a text on.
class DamagedModel final : public TargetModel {
 public:
  DamagedModel(TargetModel& model, std::int32_t tokens) : model_(model), tokens_(tokens) {}

  Features forward(const Batch& batch, const FeatureTaps& taps) override {
    return model_.forward(batch, taps);
  }
  Tensor logits(const Features& features, const Batch& batch) override {
    const Tensor logits = model_.logits(features, batch);
    for (std::size_t i = 0; i < batch.logit_rows.size(); ++i)
      if (batch.position[at(batch.logit_rows[i])] >= tokens_)
        std::fill_n(logits.row_f32(static_cast<std::int64_t>(i)), kVocab, std::nanf(""));
    return logits;
  }
  std::span<const KvLayer> kv_layers() const override { return model_.kv_layers(); }
  std::int64_t vocab() const override { return model_.vocab(); }

 private:
  TargetModel& model_;
  std::int32_t tokens_;
};

class EngineTest : public testing::TestWithParam<int> {
 protected:
  EngineTest() {
    config_.max_running_requests = 4;
    config_.total_tokens = 64 * kPageTokens;
    config_.context_length = 100;
    config_.ring_depth = GetParam();
    config_.check_integrity = true;
  }

  Engine& make() {
    model_ = std::make_unique<HashModel>(*ops_, pages_for(config_.total_tokens), kVocab);
    engine_ = std::make_unique<Engine>(config_, *ops_, *model_, *drafter_);
    return *engine_;
  }
  Engine& make_and_start() {
    make().start();
    return *engine_;
  }

  // Room for requests that take minutes: a test that ends them early finds them running.
  static constexpr int kEndless = 200'000;  // tokens
  void make_and_start_for_endless_requests() {
    config_.total_tokens = 16 * kEndless;
    config_.context_length = 0;
    config_.check_integrity = false;  // of that many pages, after each step
    make_and_start();
  }

  static Request request(int prompt, int max_new_tokens, const std::string& id = {}) {
    Request made;
    made.id = id;
    for (int i = 0; i < prompt; ++i) made.prompt.push_back(i % kVocab);
    made.max_new_tokens = max_new_tokens;
    made.stream = std::make_shared<TokenStream>();
    return made;
  }

  EngineConfig config_;
  ThreadPool threads_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, threads_);
  std::unique_ptr<Drafter> drafter_ = make_null_drafter();
  std::unique_ptr<HashModel> model_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(EngineTest, answers_as_the_oracle_does) {
  make_and_start();
  Request asked = request(30, 20);
  asked.sampling.temperature = 0.8F;
  asked.sampling.seed = 5;
  asked.logprob_start = 0;
  const auto expected = HashOracle::answer(asked, kVocab);
  const auto answers = run_requests(*engine_, {asked});
  EXPECT_EQ(difference(answers[0].tokens, expected.output), "");
  EXPECT_EQ(difference(answers[0].prompt_scores, expected.prompt_scores), "");
  EXPECT_EQ(answers[0].finish->reason, FinishReason::kLength);
}

TEST_P(EngineTest, a_greedy_engine_answers_sampled_requests_as_at_temperature_0) {
  Request sampled = request(30, 20);
  sampled.sampling.temperature = 1.5F;
  sampled.sampling.top_p = 0.9F;
  sampled.sampling.repetition_penalty = 1.2F;
  sampled.sampling.seed = 5;
  Request greedy = sampled;
  greedy.sampling.temperature = 0.0F;
  const auto expected = HashOracle::answer(greedy, kVocab);
  ASSERT_NE(difference(HashOracle::answer(sampled, kVocab).output, expected.output), "");
  config_.greedy = true;
  make_and_start();
  const auto answers = run_requests(*engine_, {sampled});
  EXPECT_EQ(difference(answers[0].tokens, expected.output), "");
}

TEST_P(EngineTest, a_constraint_that_is_fulfilled_ends_the_text) {
  make_and_start();
  Request asked = request(10, 80);
  asked.sampling.temperature = 1.0F;
  asked.constraint = std::make_shared<HashConstraintSource>(
      HashConstraint::Rules{.vocab = kVocab, .ends_of_64 = 4});
  const auto answer = run_requests(*engine_, {asked})[0];
  EXPECT_EQ(difference(answer.tokens, HashOracle::answer(asked, kVocab).output), "");
  EXPECT_LT(answer.tokens.size(), 80U);
  EXPECT_EQ(answer.finish->reason, FinishReason::kStop);
  EXPECT_EQ(answer.finish->stop_token, kNoToken);
  // It is a stop, too, where it comes with the last token.
  asked.max_new_tokens = static_cast<int>(answer.tokens.size());
  EXPECT_EQ(run_requests(*engine_, {asked})[0].finish->reason, FinishReason::kStop);
}

TEST_P(EngineTest, a_constraint_that_fails_ends_its_request_and_no_other) {
  make_and_start();
  Request stuck = request(10, 80), other = request(12, 20);
  stuck.constraint = std::make_shared<HashConstraintSource>(
      HashConstraint::Rules{.vocab = kVocab, .ends_of_64 = 0, .faults_of_64 = 8});
  const auto answers = run_requests(*engine_, {stuck, other});
  EXPECT_EQ(answers[0].finish->reason, FinishReason::kStuck);
  EXPECT_EQ(answers[0].finish->message, "nothing can be said here");
  EXPECT_EQ(difference(answers[0].tokens, HashOracle::answer(stuck, kVocab).output), "");
  EXPECT_EQ(difference(answers[1].tokens, HashOracle::answer(other, kVocab).output), "");
  EXPECT_EQ(engine_->stats().aborted_requests, 1U);
}

TEST_P(EngineTest, a_model_without_numbers_ends_requests_with_an_error_and_is_told_once) {
  make();
  DamagedModel damaged(*model_, 15);
  engine_ = std::make_unique<Engine>(config_, *ops_, damaged, *drafter_);
  Request sound = request(3, 10), greedy = request(10, 80), sampled = request(12, 80);
  greedy.sampling.temperature = 0.0F;
  sampled.sampling.temperature = 1.0F;
  testing::internal::CaptureStderr();
  const auto answers = start_and_run(*engine_, {sound, greedy, sampled});
  engine_.reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(answers[0].finish->reason, FinishReason::kLength);
  for (const auto& [answer, tokens] : {std::pair(&answers[1], 6U), std::pair(&answers[2], 4U)}) {
    EXPECT_EQ(answer->finish->reason, FinishReason::kVoid);
    EXPECT_NE(answer->finish->message.find("NaN"), std::string::npos);
    EXPECT_EQ(answer->tokens.size(), tokens);
  }
  const auto told = log.find("NaN");
  EXPECT_NE(told, std::string::npos) << log;
  EXPECT_EQ(log.find("NaN", told + 1), std::string::npos) << log;
}

TEST_P(EngineTest, refuses_with_the_texts_clients_know) {
  make_and_start();
  const auto text = [&](Request asked) { return engine_->submit(std::move(asked))->message; };
  EXPECT_EQ(text(request(0, 5)), "The input is empty: at least one token is needed.");
  EXPECT_EQ(text(request(100, 0)),
            "The input (100 tokens) is longer than the model's context length (100 tokens).");
  EXPECT_EQ(text(request(60, 41)),
            "Requested token count exceeds the model's maximum context length of 100 tokens. You "
            "requested a total of 101 tokens: 60 tokens from the input messages and 41 tokens for "
            "the completion. Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit.");
  Request strange = request(3, 5);
  strange.prompt = {0, kVocab, 2};
  EXPECT_EQ(text(strange),
            "The input contains token id 64, which is not in the vocabulary [0, 64).");
  strange.prompt = {0, -1, 2};
  EXPECT_EQ(engine_->submit(strange)->status, 400);
  Request misled = request(3, 5);
  for (const std::int64_t token : {kVocab, std::int64_t{-1}}) {
    misled.prediction = {0, static_cast<Token>(token)};
    EXPECT_EQ(text(misled), "The prediction contains tokens that are not in the vocabulary.");
  }
  EXPECT_EQ(text(request(3, -1)), "max_new_tokens must be at least 0, got -1.");
  EXPECT_FALSE(engine_->submit(request(60, 40)));
}

TEST_P(EngineTest, a_full_queue_refuses_with_503) {
  config_.max_queued_requests = 2;
  make();  // not started: everything stays queued
  EXPECT_FALSE(engine_->submit(request(3, 5)));
  EXPECT_FALSE(engine_->submit(request(3, 5)));
  const auto refusal = engine_->submit(request(3, 5));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 503);
  EXPECT_EQ(refusal->message, "The request queue is full.");
  EXPECT_EQ(engine_->stats().queued, 2);
}

TEST_P(EngineTest, no_more_run_at_once_than_allowed) {
  config_.max_running_requests = 2;
  make_and_start_for_endless_requests();
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 4; ++i) {
    Request asked = request(3, kEndless - 10);
    streams.push_back(asked.stream);
    ASSERT_FALSE(engine_->submit(std::move(asked)));
  }
  // Tokens that are said once as many run as may, however late the others were heard of.
  while (engine_->stats().running < 2) std::this_thread::yield();
  const auto said = engine_->stats().generated_tokens;
  while (engine_->stats().generated_tokens < said + 20) std::this_thread::yield();
  EXPECT_EQ(engine_->stats().running, 2);
  EXPECT_EQ(engine_->stats().queued, 2);
  engine_->stop(milliseconds(0));
}

TEST_P(EngineTest, the_context_is_limited_to_what_the_cache_can_hold) {
  config_.context_length = 100000;
  make();
  EXPECT_EQ(engine_->config().context_length, 64 * kPageTokens);
}

TEST_P(EngineTest, a_capacity_that_ends_inside_a_page_is_served_to_the_token) {
  config_.total_tokens = config_.context_length = 1000;
  make_and_start();
  EXPECT_EQ(engine_->config().context_length, 1000);
  EXPECT_EQ(engine_->stats().total_tokens, 1000);
  EXPECT_TRUE(engine_->submit(request(600, 401)));
  const auto answers = run_requests(*engine_, {request(600, 400)});
  EXPECT_EQ(answers[0].finish->reason, FinishReason::kLength);
  EXPECT_EQ(answers[0].tokens.size(), 400U);
  engine_->stop(milliseconds(1000));
  const EngineStats stats = engine_->stats();
  EXPECT_LE(stats.used_tokens + stats.cached_tokens, 1000);
}

TEST_P(EngineTest, cannot_start_without_memory_or_slots) {
  config_.total_tokens = kPageTokens - 1;
  EXPECT_THROW(make(), Error);
  config_.total_tokens = 64 * kPageTokens;
  config_.max_running_requests = 0;
  EXPECT_THROW(make(), Error);
}

TEST_P(EngineTest, a_request_as_long_as_the_whole_cache_fits) {
  config_.context_length = 0;
  make_and_start();
  const auto answers = run_requests(*engine_, {request(40, 64 * kPageTokens - 40)});
  EXPECT_EQ(answers[0].finish->reason, FinishReason::kLength);
  EXPECT_EQ(answers[0].tokens.size(), 64U * kPageTokens - 40);
}

TEST_P(EngineTest, stopping_drains_what_was_accepted_and_refuses_the_rest) {
  make_and_start();
  Request accepted = request(30, 60);
  const auto stream = accepted.stream;
  ASSERT_FALSE(engine_->submit(std::move(accepted)));
  engine_->stop(milliseconds(60000));
  EXPECT_EQ(collect(*stream).finish->reason, FinishReason::kLength);
  const auto refusal = engine_->submit(request(3, 5));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 503);
}

TEST_P(EngineTest, stopping_without_grace_fails_what_is_left) {
  make_and_start_for_endless_requests();
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 10; ++i) {
    Request asked = request(30, kEndless);
    streams.push_back(asked.stream);
    ASSERT_FALSE(engine_->submit(std::move(asked)));
  }
  engine_->stop(milliseconds(0));
  for (const auto& stream : streams)
    EXPECT_EQ(collect(*stream).finish->reason, FinishReason::kShutdown);
}

TEST_P(EngineTest, an_engine_that_never_ran_still_ends_its_requests) {
  make();
  Request asked = request(30, 9);
  const auto stream = asked.stream;
  ASSERT_FALSE(engine_->submit(std::move(asked)));
  engine_.reset();
  EXPECT_EQ(collect(*stream).finish->reason, FinishReason::kShutdown);
}

TEST_P(EngineTest, questions_after_the_end_are_answered) {
  make_and_start();
  engine_->stop(milliseconds(0));
  EXPECT_EQ(engine_->check_integrity().get(), "");
  EXPECT_TRUE(engine_->flush_cache().get());
  engine_->abort("nobody");
  engine_->abort_all();
}

TEST_P(EngineTest, aborting_ends_one_or_all) {
  make_and_start_for_endless_requests();
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const std::string id : {"a", "b", "c"}) {
    Request asked = request(20, kEndless, id);
    streams.push_back(asked.stream);
    ASSERT_FALSE(engine_->submit(std::move(asked)));
  }
  engine_->abort("b");
  EXPECT_EQ(collect(*streams[1]).finish->reason, FinishReason::kCancelled);
  engine_->abort_all();
  EXPECT_EQ(collect(*streams[0]).finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(collect(*streams[2]).finish->reason, FinishReason::kCancelled);
  EXPECT_TRUE(engine_->flush_cache().get());
}

TEST_P(EngineTest, ranks_need_a_queue_in_their_order) {
  config_.has_ranks = true;
  config_.policy = SchedulePolicy::kLpm;
  EXPECT_THROW(make(), Error);
}

TEST_P(EngineTest, a_pause_holds_until_it_is_resumed) {
  Engine& engine = make_and_start();
  engine.pause(Pause::kRetract).get();
  Request waiting = request(10, 5);
  const auto stream = waiting.stream;
  ASSERT_FALSE(engine.submit(std::move(waiting)));
  Request gone = request(10, 5);
  gone.deadline = std::chrono::steady_clock::now();
  const auto late = gone.stream;
  ASSERT_FALSE(engine.submit(std::move(gone)));
  EXPECT_EQ(collect(*late).finish->reason, FinishReason::kDeadline);  // its time goes on
  EXPECT_TRUE(engine.flush_cache().get());
  EXPECT_FALSE(stream->take());
  engine.resume();
  EXPECT_EQ(collect(*stream).tokens.size(), 5U);
}

TEST_P(EngineTest, stopping_ends_a_pause) {
  Engine& engine = make_and_start();
  engine.pause(Pause::kInPlace).get();
  Request waiting = request(10, 5);
  const auto stream = waiting.stream;
  ASSERT_FALSE(engine.submit(std::move(waiting)));
  engine.stop(std::chrono::seconds(60));
  EXPECT_EQ(collect(*stream).tokens.size(), 5U);
  engine.pause(Pause::kInPlace).get();  // answered behind the end, too
}

TEST_P(EngineTest, hidden_states_are_those_of_all_tokens_but_the_last) {
  Engine& engine = make_and_start();
  for (const int start : {0, 7, 9}) {
    Request asked = request(10, 5);
    asked.hidden_start = start;
    const auto expected = HashOracle::answer(asked, kVocab);
    EXPECT_EQ(expected.hidden.size(), static_cast<std::size_t>(14 - start));
    std::vector<Request> all;
    all.push_back(std::move(asked));
    EXPECT_TRUE(same_bits(run_requests(engine, std::move(all)).at(0).hidden, expected.hidden));
  }
  Request beyond = request(10, 5);
  beyond.hidden_start = 10;
  EXPECT_TRUE(engine.submit(std::move(beyond)));
}

TEST_P(EngineTest, idle_memory_goes_back_and_answers_stay) {
  struct Counting final : Delegate {
    explicit Counting(std::unique_ptr<Ops> inner) : Delegate(std::move(inner)) {}
    void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
                Batch& batch) override {
      released = -1;
      Delegate::layout(plan, trees, table, batch);
    }
    void release_kv(std::span<const PageId> pages) override {
      released = static_cast<int>(pages.size());
      Delegate::release_kv(pages);
    }
    void release_scratch() override {
      ++scratch_releases;
      Delegate::release_scratch();
    }
    std::atomic<int> released = -1;  // pages given back since the last step
    std::atomic<int> scratch_releases = 0;
  };
  auto counting = std::make_unique<Counting>(std::move(ops_));
  Counting& watched = *counting;
  ops_ = std::move(counting);
  config_.idle = {.free_pages_seconds = 0, .cached_texts_seconds = 1e9};
  Engine& engine = make_and_start();
  const auto ask = [&] {
    Request asked = request(3 * kPageTokens, 2);
    const auto stream = asked.stream;
    EXPECT_FALSE(engine.submit(std::move(asked)));
    TokenDelta answer = collect(*stream);
    while (watched.released < 0) std::this_thread::yield();
    return answer.tokens;
  };
  const auto first = ask();
  EXPECT_EQ(watched.released, 64 - 3);  // cached pages stay
  while (watched.scratch_releases == 0) std::this_thread::yield();
  EXPECT_EQ(difference(ask(), first), "");
  watched.released = -1;
  EXPECT_TRUE(engine.flush_cache().get());
  while (watched.released < 0) std::this_thread::yield();
  EXPECT_EQ(watched.released, 64);
  EXPECT_EQ(difference(ask(), first), "");
}

TEST_P(EngineTest, long_after_the_last_request_cached_texts_are_forgotten) {
  config_.idle = {.free_pages_seconds = 0, .cached_texts_seconds = 0};
  Engine& engine = make_and_start();
  Request asked = request(3 * kPageTokens, 2);
  const auto stream = asked.stream;
  EXPECT_FALSE(engine.submit(std::move(asked)));
  collect(*stream);
  while (engine.stats().cached_tokens > 0) engine.check_integrity().wait();
}

TEST_P(EngineTest, statistics_add_up_when_all_is_done) {
  make_and_start();
  std::vector<Request> requests;
  for (int i = 0; i < 6; ++i) requests.push_back(request(40, 10));
  const auto answers = run_requests(*engine_, std::move(requests));
  engine_->stop(milliseconds(1000));
  const EngineStats stats = engine_->stats();
  EXPECT_EQ(stats.running, 0);
  EXPECT_EQ(stats.queued, 0);
  EXPECT_EQ(stats.used_tokens, 0);
  EXPECT_GT(stats.cached_tokens, 0);
  EXPECT_EQ(stats.total_tokens, 64 * kPageTokens);
  EXPECT_EQ(stats.generated_tokens, 60U);
  EXPECT_EQ(stats.prompt_tokens, 240U);
  EXPECT_EQ(stats.finished_requests, 6U);
  int cached = 0;
  for (const TokenDelta& answer : answers) cached += answer.cached_tokens;
  EXPECT_EQ(stats.cached_prompt_tokens, static_cast<std::uint64_t>(cached));
  EXPECT_GT(cached, 0);
}

INSTANTIATE_TEST_SUITE_P(RingDepth, EngineTest, testing::Values(1, 2));

}  // namespace
}  // namespace foretoken::engine_test
