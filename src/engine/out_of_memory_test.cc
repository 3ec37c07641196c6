// The system refuses memory to the engine, once or again and again, anywhere: in plans, steps,
// drafters, workers, streams. Requests end with a reason, nothing is lost, and requests after it
// get the same tokens as ever. Replaces operator new, so it is a program of its own.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/device_lost.h"
#include "base/log.h"
#include "draft/from_text/ngram/ngram_drafter.h"
#include "draft/from_text/suffix/suffix_drafter.h"
#include "draft/with_model/model_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"
#include "engine/testing/random_heads.h"
#include "engine/testing/tiny_model.h"
#include "model/runner.h"

namespace foretoken {
namespace {

// Allocations of all threads but those of tests, counted while `armed`.
struct Refusals {
  std::atomic<bool> armed{false};
  std::atomic<long> count{0};
  std::atomic<long> refused{0};
  long first = 0;   // this one is refused
  long period = 0;  // and every so many after it; 0: no other

  bool refuses_next() {
    if (!armed.load(std::memory_order_acquire)) return false;
    const long number = count.fetch_add(1) - first;
    if (number < 0 || (period == 0 ? number > 0 : number % period != 0)) return false;
    refused.fetch_add(1);
    return true;
  }
};
Refusals refusals;
thread_local bool is_spared = false;

// Refuses memory to the engine during its life.
class ShortMemory {
 public:
  ShortMemory(long first, long period) {
    refusals.count = refusals.refused = 0;
    refusals.first = first;
    refusals.period = period;
    refusals.armed.store(true, std::memory_order_release);
  }
  ~ShortMemory() { refusals.armed = false; }
  static long refused() { return refusals.refused; }
};

}  // namespace
}  // namespace foretoken

// Not inlined: compilers would see malloc meet delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (!foretoken::is_spared && foretoken::refusals.refuses_next()) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
// What std::stable_sort asks for. Without it a sanitizer's would meet the delete below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (!foretoken::is_spared && foretoken::refusals.refuses_next()) return nullptr;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace foretoken {
namespace {

constexpr std::int64_t kVocabSize = 48;
constexpr int kPages = 40;

int ring_depth = 1;  // of the test that runs

EngineConfig engine_config() {
  EngineConfig config;
  config.ring_depth = ring_depth;
  config.max_running_requests = 4;
  config.total_tokens = kPages * kPageTokens;
  config.context_length = 10 * kPageTokens;
  config.chunked_prefill_size = 24;
  config.force_preempt_every = 7;
  config.check_integrity = true;
  return config;
}

std::vector<Request> requests(std::int64_t vocab) {
  std::vector<Request> made;
  for (int i = 0; i < 6; ++i) {
    Request request;
    request.id = "a request of a client, number " + std::to_string(i);
    for (int p = 0; p < 20 + 9 * i; ++p)
      request.prompt.push_back(static_cast<Token>((p < 16 ? p : i * 31 + p * 7) % vocab));
    request.max_new_tokens = 12 + i;
    request.sampling.temperature = i % 2 == 0 ? 0.0F : 0.8F;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    request.sampling.top_logprobs = i == 1 ? 3 : -1;
    if (i == 2) request.sampling.frequency_penalty = 0.5F;
    if (i == 3) request.logprob_start = 5;
    made.push_back(std::move(request));
  }
  return made;
}

// An engine that answers the same requests again and again, and the answers that are right.
class Rig {
 public:
  void start(Ops& ops, TargetModel& target, Drafter& drafter) {
    engine_ = std::make_unique<Engine>(engine_config(), ops, target, drafter);
    engine_->start();
    vocab_ = target.vocab();
    expected_ = run_requests(*engine_, requests(vocab_));
  }

  // Returns how many requests were answered in full.
  int answer_with_short_memory(long first, long period) {
    long refused = 0;
    std::vector<TokenDelta> answers;
    {
      const ShortMemory memory(first, period);
      answers = run_requests(*engine_, requests(vocab_));
      refused = ShortMemory::refused();
    }
    int complete = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      std::vector<SampledToken> truth = expected_[i].tokens;
      if (answers[i].finish->reason == FinishReason::kLength) {
        ++complete;
      } else {
        EXPECT_EQ(answers[i].finish->reason, FinishReason::kOutOfMemory);
        EXPECT_GT(refused, 0);
        truth.resize(std::min(truth.size(), answers[i].tokens.size()));
      }
      EXPECT_EQ(difference(answers[i].tokens, truth), "") << "request " << i;
    }
    EXPECT_EQ(engine_->check_integrity().get(), "");
    return complete;
  }

  void expect_answers_as_ever() {
    const auto answers = run_requests(*engine_, requests(vocab_));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(difference(answers[i].tokens, expected_[i].tokens), "") << "request " << i;
      EXPECT_EQ(difference(answers[i].prompt_scores, expected_[i].prompt_scores), "");
    }
    EXPECT_TRUE(engine_->flush_cache().get());
    EXPECT_EQ(engine_->stats().used_tokens, 0);
    EXPECT_EQ(engine_->stats().running, 0);
  }

 private:
  std::int64_t vocab_ = 0;
  std::unique_ptr<Engine> engine_;
  std::vector<TokenDelta> expected_;
};

class OutOfMemory : public testing::TestWithParam<int> {
 protected:
  OutOfMemory() {
    is_spared = true;
    ring_depth = GetParam();
    set_log_level(LogLevel::kOff);
  }
  ~OutOfMemory() override { set_log_level(LogLevel::kInfo); }

  void start_with_guesses() {
    std::vector<std::vector<Token>> texts;
    for (const Request& request : requests(kVocabSize)) {
      const auto answer = HashOracle::answer(request, kVocabSize);
      texts.push_back(request.prompt.to_vector());
      for (const SampledToken& token : answer.output) texts.back().push_back(token.token);
    }
    ops_ = make_backend({.device = "reference"}, threads_);
    target_ = std::make_unique<HashModel>(*ops_, kPages, kVocabSize);
    drafter_ = std::make_unique<GuessDrafter>(
        GuessDrafter::Options{.max_nodes = 6, .depth = 3, .truth = 0.8, .vocab = kVocabSize},
        texts);
    rig_.start(*ops_, *target_, *drafter_);
  }

  void start_with_texts() {
    NgramOptions options;
    options.capacity = 50'000;
    ops_ = make_backend({.device = "reference"}, threads_);
    target_ = std::make_unique<HashModel>(*ops_, kPages, kVocabSize);
    drafter_ = std::make_unique<NgramDrafter>(options, 6, engine_config().max_running_requests);
    rig_.start(*ops_, *target_, *drafter_);
  }

  void start_with_suffixes() {
    SuffixOptions options;
    options.capacity = 20'000;
    ops_ = make_backend({.device = "reference"}, threads_);
    target_ = std::make_unique<HashModel>(*ops_, kPages, kVocabSize);
    drafter_ = std::make_unique<SuffixDrafter>(options, 6, engine_config().max_running_requests);
    rig_.start(*ops_, *target_, *drafter_);
  }

  void start_with_a_head() {
    ops_ = make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, threads_);
    decoder_ = std::make_unique<Decoder>(*ops_, tiny_model(kVocabSize, 256), *dummy_weights(1),
                                         DType::kBF16);
    target_ = std::make_unique<Runner>(*ops_, *decoder_, kPages);
    auto head = random_head(*ops_, *decoder_, RandomHead::kEagle3);
    head->allocate_kv(kPages);
    drafter_ = std::make_unique<ModelDrafter>(*ops_, std::move(head),
                                              TreeShape{.steps = 3, .topk = 2, .nodes = 6}, kPages,
                                              engine_config().max_running_requests);
    rig_.start(*ops_, *target_, *drafter_);
  }

  ThreadPool threads_{2, false};
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<TargetModel> target_;
  std::unique_ptr<Drafter> drafter_;
  Rig rig_;
};

TEST_P(OutOfMemory, one_refused_allocation_ends_requests_and_nothing_else) {
  start_with_guesses();
  int complete = 0, runs = 0;
  for (long first = 0; first < 6000; first += first < 150 ? 1 : 61, ++runs) {
    complete += rig_.answer_with_short_memory(first, 0);
    if (runs % 25 == 0) rig_.expect_answers_as_ever();
    ASSERT_FALSE(testing::Test::HasFailure()) << "allocation " << first;
  }
  rig_.expect_answers_as_ever();
  EXPECT_GT(complete, runs);  // those that waited went on
}

TEST_P(OutOfMemory, memory_refused_again_and_again_ends_requests_and_nothing_else) {
  start_with_guesses();
  for (const long period : {60, 101, 500, 2003})
    for (long first = 0; first < 4; ++first) {
      rig_.answer_with_short_memory(first * 17, period);
      rig_.expect_answers_as_ever();
      ASSERT_FALSE(testing::Test::HasFailure()) << "every " << period;
    }
}

TEST_P(OutOfMemory, a_drafter_that_was_interrupted_in_a_text_drafts_as_ever) {
  start_with_texts();
  for (long first = 0; first < 4000; first += 67) {
    rig_.answer_with_short_memory(first, 0);
    if (first % 670 == 0) rig_.expect_answers_as_ever();
    ASSERT_FALSE(testing::Test::HasFailure()) << "allocation " << first;
  }
  rig_.expect_answers_as_ever();
}

TEST_P(OutOfMemory, suffix_trees_that_were_interrupted_in_a_text_draft_as_ever) {
  start_with_suffixes();
  for (long first = 0; first < 4000; first += 67) {
    rig_.answer_with_short_memory(first, 0);
    if (first % 670 == 0) rig_.expect_answers_as_ever();
    ASSERT_FALSE(testing::Test::HasFailure()) << "allocation " << first;
  }
  rig_.expect_answers_as_ever();
}

TEST_P(OutOfMemory, a_draft_model_that_was_interrupted_drafts_as_ever) {
  start_with_a_head();
  for (long first = 0; first < 5000; first += 173) {
    rig_.answer_with_short_memory(first, 0);
    if (first % 519 == 0) rig_.expect_answers_as_ever();
    ASSERT_FALSE(testing::Test::HasFailure()) << "allocation " << first;
  }
  rig_.expect_answers_as_ever();
}

// A mapping that the system refuses is an Error, thrown by the call that needed the memory.
class FailingTarget final : public TargetModel {
 public:
  explicit FailingTarget(TargetModel& target) : target_(target) {}
  Features forward(const Batch& batch, const FeatureTaps& taps) override {
    if (is_lost_) throw DeviceLost("the device is lost");
    if (--until_failure_ == 0) throw Error("cannot allocate memory");
    return target_.forward(batch, taps);
  }
  Tensor logits(const Features& features, const Batch& batch) override {
    return target_.logits(features, batch);
  }
  std::span<const KvLayer> kv_layers() const override { return target_.kv_layers(); }
  std::int64_t vocab() const override { return target_.vocab(); }
  void fail_in(int forwards) { until_failure_ = forwards; }
  void lose() { is_lost_ = true; }

 private:
  TargetModel& target_;
  std::atomic<int> until_failure_{0};
  std::atomic<bool> is_lost_{false};
};

TEST_P(OutOfMemory, a_refused_mapping_ends_the_requests_of_its_step) {
  ops_ = make_backend({.device = "reference"}, threads_);
  HashModel model(*ops_, kPages, kVocabSize);
  FailingTarget target(model);
  const auto drafter = make_null_drafter();
  Engine engine(engine_config(), *ops_, target, *drafter);
  engine.start();
  const auto expected = run_requests(engine, requests(kVocabSize));
  for (int forwards = 1; forwards < 30; ++forwards) {
    target.fail_in(forwards);
    const auto answers = run_requests(engine, requests(kVocabSize));
    int failed = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].finish->reason == FinishReason::kLength) {
        EXPECT_EQ(difference(answers[i].tokens, expected[i].tokens), "");
        continue;
      }
      ++failed;
      EXPECT_EQ(answers[i].finish->reason, FinishReason::kOutOfMemory);
      EXPECT_EQ(answers[i].finish->message,
                "The server ran out of memory while it worked on this request.");
    }
    EXPECT_GE(failed, 1) << "forward " << forwards;
    EXPECT_LE(failed, engine_config().max_running_requests) << "forward " << forwards;
    EXPECT_EQ(engine.check_integrity().get(), "");
  }
}

TEST_P(OutOfMemory, a_lost_device_ends_all_requests_for_good) {
  ops_ = make_backend({.device = "reference"}, threads_);
  HashModel model(*ops_, kPages, kVocabSize);
  FailingTarget target(model);
  const auto drafter = make_null_drafter();
  Engine engine(engine_config(), *ops_, target, *drafter);
  std::atomic<int> told{0};
  engine.on_device_lost([&] { ++told; });
  engine.start();
  EXPECT_EQ(engine.stats().fault, "");
  const auto submit = [&](Request request, const std::shared_ptr<TokenStream>& stream) {
    request.stream = stream;
    return engine.submit(std::move(request));
  };
  const auto expect_refused = [](const std::optional<Refusal>& refusal) {
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->status, 503);
    EXPECT_EQ(refusal->message, "the device is lost");
  };
  target.lose();
  // The first is accepted. Its step loses the device, perhaps before the next is submitted.
  std::vector<std::shared_ptr<TokenStream>> accepted;
  for (Request& request : requests(kVocabSize)) {
    const auto stream = std::make_shared<TokenStream>();
    const auto refusal = submit(std::move(request), stream);
    if (refusal)
      expect_refused(refusal);
    else
      accepted.push_back(stream);
  }
  ASSERT_FALSE(accepted.empty());
  for (const auto& stream : accepted) {
    const TokenDelta answer = collect(*stream);
    EXPECT_EQ(answer.finish->reason, FinishReason::kShutdown);
    EXPECT_EQ(answer.finish->message, "the device is lost");
  }
  EXPECT_EQ(engine.check_integrity().get(), "");  // by the engine's thread, after the lost step
  EXPECT_EQ(engine.stats().fault, "the device is lost");
  EXPECT_EQ(told, 1);
  expect_refused(submit(requests(kVocabSize)[0], std::make_shared<TokenStream>()));
}

INSTANTIATE_TEST_SUITE_P(RingDepth, OutOfMemory, testing::Values(1, 2));

}  // namespace
}  // namespace foretoken
