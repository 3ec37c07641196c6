// Which prefixes a model whose layers keep a state finds in the cache: those behind which a state
// was kept. That it goes on with the right one is what tests/invariance is for.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "base/index.h"
#include "batch/state_blocks.h"
#include "engine/testing/answers.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"

namespace foretoken::state_cache_test {
namespace {

constexpr std::int64_t kVocab = 64;

class CopyWatch final : public Delegate {
 public:
  using Delegate::Delegate;
  void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) override {
    copied.insert(copied.end(), copies.begin(), copies.end());
    Delegate::copy_states(copies, layers);
  }
  std::vector<StateCopy> copied;
};

class StateCache : public testing::TestWithParam<int> {
 protected:
  StateCache() {
    config_.max_running_requests = 4;
    config_.total_tokens = 64 * kPageTokens;
    config_.context_length = 400;
    config_.ring_depth = GetParam();
    config_.check_integrity = true;
  }

  void start(int snapshots) {
    model_ = std::make_unique<HashModel>(*ops_, pages_for(config_.total_tokens), kVocab, snapshots);
    engine_ = std::make_unique<Engine>(config_, *ops_, *model_, *drafter_);
    engine_->start();
  }

  // Tokens of the text: some that many begin with, then its own.
  static std::vector<Token> text(int common, int own, Token of = 0) {
    std::vector<Token> made;
    for (int i = 0; i < common; ++i) made.push_back((i * i + i / 7) % kVocab);
    for (int i = 0; i < own; ++i) made.push_back((5 * i + of + i / 11) % kVocab);
    return made;
  }
  static Request request(const std::vector<Token>& prompt, int max_new) {
    Request made;
    for (const Token token : prompt) made.prompt.push_back(token);
    made.max_new_tokens = max_new;
    return made;
  }
  TokenDelta ask(const Request& asked) {
    const auto expected = HashOracle::answer(asked, kVocab);
    TokenDelta answer = run_requests(*engine_, {asked})[0];
    EXPECT_EQ(difference(answer.tokens, expected.output), "");
    return answer;
  }
  int cached(const std::vector<Token>& prompt, int max_new = 3) {
    return ask(request(prompt, max_new)).cached_tokens;
  }

  EngineConfig config_;
  ThreadPool threads_{1, false};
  std::unique_ptr<CopyWatch> ops_ =
      std::make_unique<CopyWatch>(make_backend({.device = "reference"}, threads_));
  std::unique_ptr<Drafter> drafter_ = make_null_drafter();
  std::unique_ptr<HashModel> model_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(StateCache, a_prompt_goes_on_from_the_last_border_of_the_same_before) {
  start(8);
  EXPECT_EQ(cached(text(0, 100)), 0);
  EXPECT_EQ(cached(text(0, 100)), 96);
  EXPECT_EQ(cached(text(0, 99)), 96);
  EXPECT_EQ(cached(text(0, 96)), 0) << "the last token is always computed";
}

TEST_P(StateCache, the_next_turn_of_a_chat_goes_on_from_the_end_of_the_answer) {
  start(8);
  std::vector<Token> chat = text(0, 50);
  const TokenDelta answer = ask(request(chat, 60));
  for (const SampledToken& token : answer.tokens) chat.push_back(token.token);
  for (const Token token : text(0, 20, 9)) chat.push_back(token);
  EXPECT_EQ(cached(chat), 96);
}

// Two pages of states a sequence, then the snapshots.
TEST_P(StateCache, states_are_copied_from_a_snapshot_to_the_sequence_and_back) {
  config_.max_running_requests = 8;
  start(8);
  const int slots = config_.max_running_requests;
  const auto is_of_sequence = [&](int page) { return page >= 0 && page < 2 * slots; };
  const auto is_snapshot = [&](int page) { return page >= 2 * slots && page < 2 * slots + 8; };
  cached(text(0, 100));
  ops_->copied.clear();
  EXPECT_EQ(cached(text(0, 100)), 96);
  int restored = 0;
  for (const StateCopy& copy : ops_->copied) {
    EXPECT_TRUE(is_of_sequence(copy.to) ? is_snapshot(copy.from) : is_snapshot(copy.to))
        << copy.from << " to " << copy.to;
    restored += is_of_sequence(copy.to) ? 1 : 0;
  }
  EXPECT_EQ(restored, 1);
}

TEST_P(StateCache, texts_that_begin_alike_share_from_the_third_on) {
  start(12);
  EXPECT_EQ(cached(text(150, 60, 1)), 0);
  EXPECT_EQ(cached(text(150, 60, 2)), 0) << "no state was kept where they part";
  EXPECT_EQ(cached(text(150, 60, 3)), 128);
  EXPECT_EQ(cached(text(150, 60, 4)), 128);
}

TEST_P(StateCache, few_snapshots_are_those_of_the_last_texts) {
  start(3);
  for (Token of = 0; of < 8; ++of) cached(text(0, 70, of));
  EXPECT_EQ(cached(text(0, 70, 7)), 64);
  EXPECT_EQ(cached(text(0, 70, 1)), 0);
}

TEST_P(StateCache, short_memory_preemption_and_chunks_change_no_text) {
  config_.max_running_requests = 3;
  config_.total_tokens = 40 * kPageTokens;
  config_.chunked_prefill_size = 48;
  config_.force_preempt_every = 5;
  start(5);
  std::vector<Request> requests;
  std::vector<HashOracle> expected;
  for (int round = 0; round < 3; ++round)
    for (Token of = 0; of < 6; ++of) {
      requests.push_back(request(text(70 + 10 * (of % 3), 40 + of, of), 40 + round));
      expected.push_back(HashOracle::answer(requests.back(), kVocab));
    }
  const auto answers = run_requests(*engine_, requests);
  int cached = 0, retractions = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(difference(answers[i].tokens, expected[i].output), "") << i;
    cached += answers[i].cached_tokens;
    retractions += answers[i].retractions;
    EXPECT_EQ(answers[i].cached_tokens % kStateTokens, 0);
  }
  EXPECT_GT(cached, 0);
  EXPECT_GT(retractions, 0);
}

TEST_P(StateCache, without_memory_for_states_nothing_is_cached) {
  class Stateful final : public TargetModel {
   public:
    explicit Stateful(HashModel& model) : model_(model) {}
    Features forward(const Batch& batch, const FeatureTaps& taps) override {
      return model_.forward(batch, taps);
    }
    Tensor logits(const Features& features, const Batch& batch) override {
      return model_.logits(features, batch);
    }
    std::span<const KvLayer> kv_layers() const override { return model_.kv_layers(); }
    std::int64_t vocab() const override { return model_.vocab(); }
    bool keeps_states() const override { return true; }

   private:
    HashModel& model_;
  };
  model_ = std::make_unique<HashModel>(*ops_, pages_for(config_.total_tokens), kVocab);
  Stateful target(*model_);
  engine_ = std::make_unique<Engine>(config_, *ops_, target, *drafter_);
  engine_->start();
  EXPECT_EQ(cached(text(0, 100)), 0);
  EXPECT_EQ(cached(text(0, 100)), 0);
  engine_.reset();
}

INSTANTIATE_TEST_SUITE_P(Rings, StateCache, testing::Values(1, 2),
                         [](const auto& info) { return "ring_" + std::to_string(info.param); });

}  // namespace
}  // namespace foretoken::state_cache_test
