// Drafting from texts, end to end: on a model whose next token follows from its last, whatever was
// said once is guessed right, and every token that is read wrongly shows as a lost one.
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "draft/catalogue/union_drafter.h"
#include "draft/from_text/ngram/ngram_drafter.h"
#include "draft/from_text/suffix/suffix_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/hash_model.h"

namespace foretoken::text_drafter_test {
namespace {

constexpr std::int64_t kVocab = 400;
constexpr int kPages = 128, kNodes = 8;

// Counts up: after token t comes t + 1. Its KV is that of a HashModel, which looks after itself.
class CountingModel final : public TargetModel {
 public:
  explicit CountingModel(Ops& ops) : ops_(ops), kv_(ops, kPages, kVocab) {}

  Features forward(const Batch& batch, const FeatureTaps& taps) override {
    return kv_.forward(batch, taps);
  }
  Tensor logits(const Features&, const Batch& batch) override {
    const Tensor out =
        ops_.temp(DType::kF32, {static_cast<std::int64_t>(batch.logit_rows.size()), kVocab});
    for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
      float* row = out.row_f32(static_cast<std::int64_t>(i));
      std::fill(row, row + kVocab, 0.0F);
      row[(batch.token[at(batch.logit_rows[i])] + 1) % kVocab] = 9;
    }
    return out;
  }
  std::span<const KvLayer> kv_layers() const override { return kv_.kv_layers(); }
  std::int64_t vocab() const override { return kVocab; }

 private:
  Ops& ops_;
  HashModel kv_;
};

class TextEngine : public testing::Test {
 protected:
  void start(std::unique_ptr<Drafter> drafter) {
    engine_.reset();  // it outlives nothing that it uses
    drafter_ = std::move(drafter);
    EngineConfig config;
    config.max_running_requests = 4;
    config.total_tokens = kPages * kPageTokens;
    config.context_length = 600;
    config.chunked_prefill_size = 64;
    config.check_integrity = true;
    engine_ = std::make_unique<Engine>(config, *ops_, model_, *drafter_);
    engine_->start();
  }

  static Request request(std::vector<Token> prompt, int output, std::uint64_t scope = 0) {
    static int number = 0;
    Request made;
    made.id = std::to_string(number++);
    made.prompt = std::move(prompt);
    made.sampling.temperature = 0;
    made.max_new_tokens = output;
    made.draft_scope = scope;
    return made;
  }
  static std::vector<Token> counting(Token from, int count) {
    std::vector<Token> tokens(at(count));
    std::iota(tokens.begin(), tokens.end(), from);
    return tokens;
  }

  // Each answer counts on from its prompt.
  std::vector<TokenDelta> run(std::vector<Request> requests) {
    auto answers = run_requests(*engine_, requests);
    for (std::size_t i = 0; i < answers.size(); ++i)
      for (std::size_t n = 0; n < answers[i].tokens.size(); ++n)
        EXPECT_EQ(answers[i].tokens[n].token,
                  (requests[i].prompt.back() + 1 + static_cast<Token>(n)) % kVocab);
    return answers;
  }

  ThreadPool threads_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, threads_);
  CountingModel model_{*ops_};
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<Engine> engine_;
};

class NgramEngine : public TextEngine {
 protected:
  void start(DraftIsolation isolation = DraftIsolation::kKey) {
    NgramOptions options;
    options.capacity = 50'000;
    options.isolation = isolation;
    TextEngine::start(std::make_unique<NgramDrafter>(options, kNodes, 4));
  }
};

TEST_F(NgramEngine, an_answer_that_quotes_its_prompt_takes_one_step_for_a_tree) {
  start();
  auto prompt = counting(0, 100);
  prompt.push_back(10);
  const auto answer = run({request(prompt, 1 + 10 * kNodes)})[0];
  EXPECT_EQ(answer.verify_steps, 10);
  EXPECT_EQ(answer.accepted_drafts, 10 * (kNodes - 1));
}

TEST_F(NgramEngine, who_asks_is_told_what_each_step_verified) {
  NgramOptions options;
  options.capacity = 50'000;
  auto both = std::make_unique<UnionDrafter>(4);
  both->add([](auto) { return std::make_unique<SuffixDrafter>(SuffixOptions{}, 1, 4); });
  both->add([&](auto) { return std::make_unique<NgramDrafter>(options, kNodes, 4); });
  TextEngine::start(std::move(both));
  auto prompt = counting(0, 100);
  prompt.push_back(10);
  std::vector<Request> requests{request(prompt, 30), request(prompt, 30)};
  requests[0].draft_wish.is_traced = true;
  const auto answers = run(requests);
  EXPECT_TRUE(answers[1].traces.empty());
  std::size_t told = 0, accepted = 0, proposed = 0;
  Token root = 10;
  for (const DraftTrace& step : answers[0].traces) {
    for (const TracedDraft& draft : step.drafts) {
      EXPECT_LT(draft.parent, &draft - step.drafts.data());
      EXPECT_EQ(draft.drafters, 2U) << "the second drafter";
      EXPECT_LE(draft.chance, 1.0F);
    }
    for (std::size_t i = 0; i < step.accepted.size(); ++i)
      EXPECT_EQ(step.drafts[at(step.accepted[i])].token, answers[0].tokens[told + i].token);
    EXPECT_EQ(answers[0].tokens[told].token, root + 1);
    told += at(step.tokens);
    root = answers[0].tokens[told - 1].token;
    accepted += step.accepted.size();
    proposed += step.drafts.size();
  }
  EXPECT_EQ(told, answers[0].tokens.size());
  EXPECT_EQ(accepted, at(answers[0].accepted_drafts));
  EXPECT_EQ(proposed, at(answers[0].proposed_drafts));
  EXPECT_GT(accepted, 10U);
}

TEST_F(NgramEngine, a_text_without_repeats_is_decoded_plainly) {
  start();
  const auto answer = run({request(counting(0, 20), 50)})[0];
  EXPECT_EQ(answer.verify_steps, 49);
  EXPECT_EQ(answer.proposed_drafts, 0);
}

TEST_F(NgramEngine, an_answer_drafts_for_the_next_one_of_its_scope) {
  start();
  run({request({7}, 41, 5)});
  EXPECT_EQ(run({request({7}, 41, 6)})[0].proposed_drafts, 0);
  const auto again = run({request({7}, 41, 5)})[0];
  EXPECT_EQ(again.verify_steps, 40 / kNodes);
}

TEST_F(NgramEngine, flushing_the_cache_forgets_the_texts) {
  start();
  run({request({7}, 41)});
  ASSERT_TRUE(engine_->flush_cache().get());
  EXPECT_EQ(run({request({7}, 41)})[0].proposed_drafts, 0);
}

TEST_F(NgramEngine, a_prompt_from_the_prefix_cache_is_read_like_any_other) {
  start(DraftIsolation::kRequest);
  auto prompt = counting(0, 200);
  prompt.push_back(10);
  run({request(prompt, 1)});
  const auto answer = run({request(prompt, 1 + 5 * kNodes)})[0];
  EXPECT_GT(answer.cached_tokens, 150);
  EXPECT_EQ(answer.verify_steps, 5);
}

TEST_F(NgramEngine, requests_side_by_side_keep_their_own_ends) {
  start();
  std::vector<Request> requests;
  for (Token first = 0; first < 8; ++first) {
    auto prompt = counting(first * 20, 60);
    prompt.push_back(first * 20 + 5);
    requests.push_back(
        request(std::move(prompt), 1 + 5 * kNodes, static_cast<std::uint64_t>(first % 3)));
  }
  for (const TokenDelta& answer : run(std::move(requests))) EXPECT_EQ(answer.verify_steps, 5);
}

class SuffixEngine : public TextEngine {
 protected:
  void start(bool only_predictions = false) {
    SuffixOptions options;
    options.capacity = 20'000;
    options.only_predictions = only_predictions;
    TextEngine::start(std::make_unique<SuffixDrafter>(options, kNodes, 4));
  }
  static Request predicted(std::vector<Token> prompt, int output, std::vector<Token> prediction) {
    Request made = request(std::move(prompt), output);
    made.prediction = std::move(prediction);
    return made;
  }
};

TEST_F(SuffixEngine, an_answer_that_quotes_its_prompt_doubles_its_drafts) {
  start();
  auto prompt = counting(0, 100);
  prompt.push_back(10);
  // 11; then 12; 13 14 15; from there on seven drafts and what follows them.
  const auto answer = run({request(prompt, 1 + 2 + 4 + 5 * kNodes)})[0];
  EXPECT_EQ(answer.verify_steps, 2 + 5);
  EXPECT_EQ(answer.accepted_drafts, 1 + 3 + 5 * (kNodes - 1));
  EXPECT_EQ(answer.drafts.predictions.accepted, 0);
}

TEST_F(SuffixEngine, a_text_without_repeats_is_decoded_plainly) {
  start();
  const auto answer = run({request(counting(0, 20), 50)})[0];
  EXPECT_EQ(answer.verify_steps, 49);
  EXPECT_EQ(answer.proposed_drafts, 0);
}

TEST_F(SuffixEngine, an_answer_drafts_for_the_next_one_of_its_scope) {
  start();
  run({request({7}, 41, 5)});
  EXPECT_EQ(run({request({7}, 41, 6)})[0].proposed_drafts, 0);
  EXPECT_LT(run({request({7}, 41, 5)})[0].verify_steps, 9);
  ASSERT_TRUE(engine_->flush_cache().get());
  EXPECT_EQ(run({request({7}, 41, 5)})[0].proposed_drafts, 0);
}

TEST_F(SuffixEngine, a_prediction_that_is_the_answer_takes_a_step_for_a_tree) {
  for (const bool only_predictions : {false, true}) {
    start(only_predictions);
    const auto prompt = counting(0, 30);
    const auto answer = run({predicted(prompt, 1 + 10 * kNodes, counting(30, 100))})[0];
    EXPECT_EQ(answer.verify_steps, 10);
    EXPECT_EQ(answer.drafts.predictions.accepted, 10 * (kNodes - 1));
    EXPECT_EQ(answer.drafts.predictions.proposed, 10 * (kNodes - 1));
  }
}

TEST_F(SuffixEngine, a_prediction_that_is_wrong_changes_nothing_but_the_number_of_drafts) {
  start(true);
  const auto answer = run({predicted(counting(0, 30), 41, {30, 31, 99, 98, 97})})[0];
  EXPECT_EQ(answer.drafts.predictions.accepted, 1);  // 30 comes with the prompt
  EXPECT_EQ(answer.drafts.predictions.proposed, 4);
  EXPECT_EQ(answer.verify_steps, 39);
}

TEST_F(SuffixEngine, tokens_that_do_not_exist_are_refused_in_predictions_too) {
  start();
  Request made = predicted({1, 2}, 5, {3, static_cast<Token>(kVocab)});
  made.stream = std::make_shared<TokenStream>();
  const auto refusal = engine_->submit(std::move(made));
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->message.find("prediction"), std::string::npos);
}

TEST_F(SuffixEngine, predictions_side_by_side_keep_their_own_ends) {
  start(true);
  std::vector<Request> requests;
  for (Token first = 0; first < 8; ++first)
    requests.push_back(predicted(counting(first * 20, 10), 1 + 4 * kNodes,
                                 counting(first * 20 + 10, first % 2 == 0 ? 100 : 0)));
  const auto answers = run(std::move(requests));
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].verify_steps, i % 2 == 0 ? 4 : 4 * kNodes);
}

}  // namespace
}  // namespace foretoken::text_drafter_test
