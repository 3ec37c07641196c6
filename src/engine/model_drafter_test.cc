// Drafting with a model, end to end: the target as its own draft model guesses everything right, so
// that any wrong row, slot, mask or position of the drafter's own KV shows as a lost token.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/testing/lone_drafter.h"
#include "draft/with_model/model_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/random_heads.h"
#include "engine/testing/tiny_model.h"
#include "model/heads/language_draft.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr int kPages = 64, kSlots = 4;

ModelConfig tiny_config() { return tiny_model(300, 512); }

std::unique_ptr<Decoder> make_decoder(Ops& ops, std::uint64_t seed) {
  return std::make_unique<Decoder>(ops, tiny_config(), *dummy_weights(seed), DType::kBF16);
}

Request make_request(int first, int length, int output) {
  Request request;
  request.id = std::to_string(first);
  for (int i = 0; i < length; ++i) request.prompt.push_back((first + i * 7) % 300);
  request.sampling.temperature = 0;
  request.sampling.top_logprobs = -1;
  request.max_new_tokens = output;
  request.stream = std::make_shared<TokenStream>();
  return request;
}

// All sequences rest for so many decode steps after the prompt, then are drafted for some.
class TurnsPace final : public StepPace {
 public:
  TurnsPace(int rest, int work) : rest_(rest), period_(rest + work) {}
  void observe(const CommittedRows& rows) override {
    if (rows.plan.entries[0].chain.empty()) ++steps_;
  }
  bool rests(SeqSlot) const override { return steps_ % period_ < rest_; }

 private:
  int rest_, period_, steps_ = -1;
};

class ModelDrafterTest : public testing::Test {
 protected:
  ModelDrafterTest()
      : threads_(2, false),
        ops_(make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, threads_)),
        target_(make_decoder(*ops_, 1)),
        runner_(*ops_, *target_, kPages) {}

  EngineConfig config(int pages = kPages) const {
    EngineConfig config;
    config.max_running_requests = kSlots;
    config.total_tokens = pages * kPageTokens;
    config.context_length = 400;
    config.chunked_prefill_size = 24;
    config.check_integrity = true;
    return config;
  }

  std::unique_ptr<DraftModel> draft_model(std::uint64_t seed) {
    auto model = std::make_unique<LanguageDraft>(*ops_, make_decoder(*ops_, seed), 300);
    model->allocate_kv(kPages);
    return model;
  }

  std::unique_ptr<DraftModel> head(RandomHead kind) {
    auto model = random_head(*ops_, *target_, kind);
    model->allocate_kv(kPages);
    return model;
  }

  static std::shared_ptr<StepPace> turns(int rest, int work) {
    return std::make_unique<TurnsPace>(rest, work);
  }

  // Answers with a draft model of these weights.
  std::vector<TokenDelta> run(std::uint64_t draft_seed, const TreeShape& shape,
                              std::vector<Request> requests, const EngineConfig& config) {
    return run(draft_model(draft_seed), shape, std::move(requests), config);
  }

  std::vector<TokenDelta> run(std::unique_ptr<DraftModel> model, const TreeShape& shape,
                              std::vector<Request> requests, const EngineConfig& config,
                              std::shared_ptr<StepPace> pace = std::make_shared<StepPace>(),
                              Coupling coupling = Coupling::kMeasured) {
    LoneDrafter drafter(std::make_unique<ModelDrafter>(*ops_, std::move(model), shape, kPages,
                                                       kSlots, pace, kLogitSliceBytes, coupling),
                        pace);
    Engine engine(config, *ops_, runner_, drafter);
    auto answers = start_and_run(engine, std::move(requests));
    stats_ = engine.stats();
    return answers;
  }

  std::vector<Token> plain(Request request) {
    const auto drafter = make_null_drafter();
    Engine engine(config(), *ops_, runner_, *drafter);
    engine.start();
    return tokens_of(run_requests(engine, {std::move(request)})[0]);
  }

  static std::vector<Token> tokens_of(const TokenDelta& answer) {
    std::vector<Token> tokens;
    for (const SampledToken& token : answer.tokens) tokens.push_back(token.token);
    return tokens;
  }

  ThreadPool threads_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> target_;
  Runner runner_;
  EngineStats stats_;
};

TEST_F(ModelDrafterTest, the_target_as_its_own_draft_has_every_chain_accepted) {
  const auto answers = run(1, {.steps = 4, .topk = 1, .nodes = 5},
                           {make_request(3, 50, 61), make_request(90, 7, 61)}, config());
  EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 50, 61)));
  EXPECT_EQ(tokens_of(answers[1]), plain(make_request(90, 7, 61)));
  for (const TokenDelta& answer : answers) {
    EXPECT_EQ(answer.verify_steps, 12);  // 5 tokens each, after the first
    EXPECT_EQ(answer.accepted_drafts, 48);
  }
}

// Every way to sample: temperatures, filters, biases, bars, penalties.
std::vector<SamplingParams> sampled_ways() {
  std::vector<SamplingParams> all(8);
  all[1].temperature = 0.7F;
  all[2].top_k = 5;
  all[3].top_p = 0.5F;
  all[4].min_p = 0.2F;
  all[5].logit_bias = {{7, 3.0F}, {8, -100.0F}};
  all[6].stop_tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  all[6].min_new_tokens = 1000;
  all[7].repetition_penalty = 1.3F;
  all[7].frequency_penalty = 0.4F;
  all[7].presence_penalty = 0.2F;
  std::uint64_t seed = 100;
  for (SamplingParams& params : all) {
    params.seed = ++seed;
    params.top_logprobs = -1;
  }
  return all;
}

TEST_F(ModelDrafterTest, the_target_as_its_own_draft_has_every_sampled_chain_accepted) {
  for (const SamplingParams& way : sampled_ways())
    for (const Coupling coupling : {Coupling::kAlways, Coupling::kMeasured}) {
      std::vector<Request> requests{make_request(3, 50, 61), make_request(90, 7, 61)};
      for (Request& request : requests) request.sampling = way;
      const auto first = plain(requests[0]), second = plain(requests[1]);
      const auto answers = run(draft_model(1), {.steps = 4, .topk = 1, .nodes = 5}, requests,
                               config(), std::make_shared<StepPace>(), coupling);
      EXPECT_EQ(tokens_of(answers[0]), first);
      EXPECT_EQ(tokens_of(answers[1]), second);
      // Measured, it takes some tokens to see that both agree.
      for (const TokenDelta& answer : answers)
        EXPECT_GE(answer.accepted_drafts, coupling == Coupling::kAlways ? 48 : 44);
    }
}

TEST_F(ModelDrafterTest, without_the_noise_few_sampled_drafts_come_true) {
  Request request = make_request(3, 50, 61);
  request.sampling = sampled_ways()[0];
  const auto answers = run(draft_model(1), {.steps = 4, .topk = 1, .nodes = 5}, {request}, config(),
                           std::make_shared<StepPace>(), Coupling::kNever);
  EXPECT_EQ(tokens_of(answers[0]), plain(request));
  EXPECT_LT(answers[0].accepted_drafts, 24);
}

TEST_F(ModelDrafterTest, branches_see_their_own_ancestors_only) {
  // All 20 nodes of two levels of four are in the tree, the right path among them.
  const auto answers =
      run(1, {.steps = 2, .topk = 4, .nodes = 64}, {make_request(3, 20, 61)}, config());
  EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 20, 61)));
  // After the first token 20 times 3, up to the last one: few tokens left are less depth, not fewer
  // nodes.
  EXPECT_EQ(answers[0].verify_steps, 20);
}

TEST_F(ModelDrafterTest, who_wakes_has_caught_up_with_what_went_by) {
  for (const int rest : {1, 3, 16, 31}) {
    // Of the prompt, of so many steps and the one that wakes, and of two trees of five.
    const int output = 1 + rest + 1 + 10;
    const auto answers = run(draft_model(1), {.steps = 4, .topk = 1, .nodes = 5},
                             {make_request(3, 50, output)}, config(), turns(rest, 1000));
    EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 50, output))) << rest;
    EXPECT_EQ(answers[0].verify_steps, rest + 1 + 2) << rest;
    EXPECT_EQ(answers[0].accepted_drafts, 8) << rest;
  }
}

TEST_F(ModelDrafterTest, after_a_long_rest_it_knows_the_beginning_and_the_end) {
  for (const std::uint64_t seed : {1U, 9U}) {
    const auto answers =
        run(draft_model(seed), {.steps = 4, .topk = 2, .nodes = 8},
            {make_request(3, 50, 200), make_request(90, 7, 200)}, config(), turns(60, 5));
    EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 50, 200)));
    EXPECT_EQ(tokens_of(answers[1]), plain(make_request(90, 7, 200)));
    EXPECT_GT(stats_.proposed_drafts, 0U);
  }
}

TEST_F(ModelDrafterTest, cached_pages_that_went_by_unread_are_left_out) {
  const auto pace = turns(90, 1000);
  const TreeShape chain{.steps = 4, .topk = 1, .nodes = 5};
  LoneDrafter drafter(
      std::make_unique<ModelDrafter>(*ops_, draft_model(1), chain, kPages, kSlots, pace), pace);
  Engine engine(config(), *ops_, runner_, drafter);
  engine.start();
  const auto first = run_requests(engine, {make_request(3, 20, 81)});
  Request again = make_request(3, 20, 61);
  for (const Token token : tokens_of(first[0])) again.prompt.push_back(token);
  const auto second = run_requests(engine, {again});
  EXPECT_EQ(second[0].cached_tokens, 96);
  EXPECT_GT(second[0].proposed_drafts, 0);
  EXPECT_EQ(tokens_of(second[0]), plain(again));
}

TEST_F(ModelDrafterTest, cached_pages_hold_valid_draft_kv) {
  ModelDrafter drafter(*ops_, draft_model(1), {.steps = 4, .topk = 1, .nodes = 5}, kPages, kSlots);
  Engine engine(config(), *ops_, runner_, drafter);
  engine.start();
  run_requests(engine, {make_request(3, 100, 21)});
  const auto again = run_requests(engine, {make_request(3, 100, 21)});
  EXPECT_EQ(again[0].cached_tokens, 96);
  EXPECT_EQ(again[0].verify_steps, 4);
}

TEST_F(ModelDrafterTest, is_invisible_and_survives_short_pages_and_preemption) {
  EngineConfig tight = config(14);
  tight.context_length = 160;
  for (const std::uint64_t seed : {1U, 9U}) {
    const auto answers =
        run(seed, {.steps = 5, .topk = 3, .nodes = 16},
            {make_request(3, 60, 80), make_request(40, 30, 80), make_request(77, 9, 80)}, tight);
    EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 60, 80)));
    EXPECT_EQ(tokens_of(answers[1]), plain(make_request(40, 30, 80)));
    EXPECT_EQ(tokens_of(answers[2]), plain(make_request(77, 9, 80)));
    EXPECT_GT(stats_.retractions, 0U);
    EXPECT_GT(stats_.proposed_drafts, 0U);
  }
}

class HeadDrafterTest : public ModelDrafterTest, public testing::WithParamInterface<RandomHead> {};

TEST_P(HeadDrafterTest, is_invisible_and_survives_short_pages_and_preemption) {
  EngineConfig tight = config(14);
  tight.context_length = 160;
  for (const TreeShape& shape : {TreeShape{.steps = 1, .topk = 1, .nodes = 2},
                                 TreeShape{.steps = 5, .topk = 3, .nodes = 16}}) {
    const auto answers =
        run(head(GetParam()), shape,
            {make_request(3, 60, 80), make_request(40, 30, 80), make_request(77, 9, 80)}, tight);
    EXPECT_EQ(tokens_of(answers[0]), plain(make_request(3, 60, 80)));
    EXPECT_EQ(tokens_of(answers[1]), plain(make_request(40, 30, 80)));
    EXPECT_EQ(tokens_of(answers[2]), plain(make_request(77, 9, 80)));
    EXPECT_GT(stats_.retractions, 0U);
    EXPECT_GT(stats_.proposed_drafts, 0U);
  }
}

TEST_P(HeadDrafterTest, rests_are_invisible) {
  const TreeShape shape{.steps = 3, .topk = 2, .nodes = 8};
  for (const int rest : {5, 31, 70})
    EXPECT_EQ(tokens_of(run(head(GetParam()), shape, {make_request(3, 50, 200)}, config(),
                            turns(rest, 3))[0]),
              plain(make_request(3, 50, 200)));
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadDrafterTest,
                         testing::Values(RandomHead::kEagle, RandomHead::kFrSpec,
                                         RandomHead::kEagle3, RandomHead::kMimo, RandomHead::kNextn,
                                         RandomHead::kMimos, RandomHead::kNextns,
                                         RandomHead::kQueries));

TEST_F(ModelDrafterTest, refuses_impossible_shapes) {
  const auto make = [&](TreeShape shape) {
    ModelDrafter(*ops_, draft_model(1), shape, kPages, kSlots);
  };
  EXPECT_THROW(make({.steps = 0, .topk = 1, .nodes = 2}), Error);
  EXPECT_THROW(make({.steps = 1, .topk = 0, .nodes = 2}), Error);
  EXPECT_THROW(make({.steps = 1, .topk = 1, .nodes = 1}), Error);
  EXPECT_THROW(make({.steps = 1, .topk = 1, .nodes = 65}), Error);
  EXPECT_NO_THROW(make({.steps = 10, .topk = 8, .nodes = 64}));
}

}  // namespace
}  // namespace foretoken
