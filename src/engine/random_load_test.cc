// Random requests under random configurations: whatever is chunked, cached, shared, preempted,
// evicted, guessed or cancelled, every request gets exactly the text of the oracle.
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "batch/testing/hash_constraint.h"
#include "draft/from_text/ngram/ngram_drafter.h"
#include "draft/from_text/suffix/suffix_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/hash_model.h"

namespace foretoken::random_load_test {
namespace {

constexpr std::int64_t kVocab = 48;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int between(int low, int high) {  // both included
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<int>(choices.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

Request random_request(Dice& dice, int longest) {
  Request request;
  // Few distinct beginnings, so that prefixes are shared.
  const int size = dice.between(1, longest * 2 / 3), family = dice.between(0, 2);
  const int own = dice.chance(30) ? 0 : dice.between(0, size);
  for (int i = 0; i < size; ++i)
    request.prompt.push_back(i < size - own ? (family * 11 + i) % kVocab
                                            : dice.between(0, static_cast<int>(kVocab) - 1));
  request.max_new_tokens = dice.between(0, longest - size);
  request.logprob_start = dice.chance(25) ? dice.between(0, size) : -1;
  request.hidden_start =
      dice.chance(25) && request.max_new_tokens > 0 ? dice.between(0, size - 1) : -1;
  request.rank = dice.between(0, 3);
  request.cache_salt = dice.chance(10) ? 1 : 0;
  SamplingParams& sampling = request.sampling;
  sampling.temperature = dice.pick({0.0F, 0.0F, 0.7F, 1.0F});
  sampling.seed = static_cast<std::uint64_t>(dice.between(0, 3));
  sampling.top_k = dice.pick({-1, -1, 5});
  sampling.top_p = dice.pick({1.0F, 0.8F});
  sampling.min_p = dice.pick({0.0F, 0.0F, 0.1F});
  if (dice.chance(25)) sampling.frequency_penalty = 0.5F;
  if (dice.chance(25)) sampling.repetition_penalty = 1.3F;
  if (dice.chance(30)) sampling.stop_tokens = {dice.between(0, static_cast<int>(kVocab) - 1)};
  if (dice.chance(30)) sampling.min_new_tokens = dice.between(0, request.max_new_tokens);
  sampling.top_logprobs = dice.pick({-1, 0, 3});
  if (dice.chance(30))
    request.constraint = std::make_shared<HashConstraintSource>(
        HashConstraint::Rules{.seed = static_cast<std::uint64_t>(dice.between(1, 3)),
                              .vocab = static_cast<int>(kVocab),
                              .ends_of_64 = dice.pick({1, 4}),
                              .faults_of_64 = dice.pick({0, 0, 2}),
                              .stops = sampling.stop_tokens});
  return request;
}

EngineConfig random_config(Dice& dice) {
  EngineConfig config;
  config.max_running_requests = dice.pick({1, 3, 16});
  config.total_tokens = dice.pick({10, 16, 40, 200}) * kPageTokens;
  config.context_length = 10 * kPageTokens;
  config.chunked_prefill_size = dice.pick({-1, 1, 7, 16, 64});
  config.max_prefill_tokens = dice.pick({20, 16384});
  config.policy = dice.pick({SchedulePolicy::kFcfs, SchedulePolicy::kLpm, SchedulePolicy::kRandom});
  config.has_ranks = dice.chance(30);
  if (config.has_ranks) {
    config.policy = SchedulePolicy::kFcfs;
    config.preemption_gap = dice.between(0, 2);
  }
  config.output_estimate_clip = dice.pick({4096, 0});
  config.radix_cache = dice.chance(70);
  config.force_preempt_every = dice.pick({0, 0, 1, 3, 10});
  config.ring_depth = dice.pick({1, 2, 2, 4});
  if (dice.chance(30)) config.idle = {.free_pages_seconds = 0, .cached_texts_seconds = 0};
  config.check_integrity = true;
  return config;
}

// Guesses, or what other requests said; small memories give up and forget all the time.
std::unique_ptr<Drafter> random_drafter(Dice& dice, std::uint64_t seed,
                                        const std::vector<std::vector<Token>>& texts) {
  const GuessDrafter::Options guesses{.max_nodes = dice.pick({1, 2, 8, 64}),
                                      .depth = dice.between(1, 9),
                                      .topk = dice.between(1, 4),
                                      .truth = dice.pick({0.0, 0.5, 0.9, 1.0}),
                                      .vocab = kVocab,
                                      .seed = seed};
  if (seed % 4 > 1) return std::make_unique<GuessDrafter>(guesses, texts);
  if (seed % 4 == 1) {
    SuffixOptions options;
    options.capacity = dice.pick({20, 500, 20'000});
    options.max_depth = dice.pick({2, 5, 24});
    options.max_answers = dice.pick({0, 2, 1000});
    options.only_predictions = dice.chance(30);
    options.most_drafts = dice.pick({7, 1000});
    options.isolation = dice.pick({DraftIsolation::kRequest, DraftIsolation::kShared});
    return std::make_unique<SuffixDrafter>(options, dice.pick({2, 8, 64}), 16);
  }
  NgramOptions options;
  options.capacity = dice.pick({30, 1000, 100'000});
  options.shape.order = dice.pick({NgramShape::Order::kNewest, NgramShape::Order::kMostFrequent});
  options.isolation = dice.pick({DraftIsolation::kRequest, DraftIsolation::kShared});
  return std::make_unique<NgramDrafter>(options, dice.pick({2, 8, 64}), 16);
}

class RandomLoad : public testing::TestWithParam<int> {};

TEST_P(RandomLoad, gives_every_request_the_text_of_the_oracle) {
  for (int round = 0; round < 12; ++round) {
    Dice dice(static_cast<std::uint64_t>(GetParam() * 1000 + round));
    const EngineConfig config = random_config(dice);
    std::vector<Request> requests;
    std::vector<HashOracle> expected;
    std::vector<std::vector<Token>> texts;
    for (int i = dice.between(1, 24); i > 0; --i) {
      requests.push_back(random_request(dice, config.context_length));
      expected.push_back(HashOracle::answer(requests.back(), kVocab));
      texts.push_back(requests.back().prompt.to_vector());
      for (const SampledToken& token : expected.back().output) texts.back().push_back(token.token);
      if (!dice.chance(40)) continue;
      const int slips = dice.pick({0, 5, 50});
      for (const SampledToken& token : expected.back().output)
        requests.back().prediction.push_back(dice.chance(slips) ? 0 : token.token);
    }

    ThreadPool threads(1, false);
    const auto ops = make_backend({.device = "reference"}, threads);
    HashModel model(*ops, config.total_tokens / kPageTokens, kVocab);
    const auto drafter = random_drafter(dice, static_cast<std::uint64_t>(round), texts);
    Engine engine(config, *ops, model, *drafter);
    std::vector<bool> cancelled;
    std::vector<std::shared_ptr<TokenStream>> streams;
    engine.start();
    for (Request& request : requests) {
      request.stream = std::make_shared<TokenStream>();
      streams.push_back(request.stream);
      ASSERT_FALSE(engine.submit(std::move(request)));
      cancelled.push_back(dice.chance(10));
      if (cancelled.back()) streams.back()->cancel();
      if (dice.chance(5)) engine.pause(dice.pick({Pause::kInPlace, Pause::kRetract})).get();
      if (dice.chance(10)) engine.resume();
    }
    engine.resume();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      TokenDelta answer = collect(*streams[i]);
      const bool is_complete = answer.finish->reason == FinishReason::kStop ||
                               answer.finish->reason == FinishReason::kLength ||
                               answer.finish->reason == FinishReason::kStuck;
      ASSERT_TRUE(is_complete || cancelled[i]) << answer.finish->message;
      if (!is_complete) {  // what arrived before it was cancelled is a prefix of the truth
        expected[i].output.resize(answer.tokens.size());
        expected[i].prompt_scores.resize(answer.prompt_scores.size());
        expected[i].hidden.resize(answer.hidden.size());
      }
      ASSERT_EQ(difference(answer.tokens, expected[i].output), "")
          << "round " << round << ", request " << i;
      ASSERT_EQ(difference(answer.prompt_scores, expected[i].prompt_scores), "")
          << "round " << round << ", request " << i;
      ASSERT_TRUE(same_bits(answer.hidden, expected[i].hidden))
          << "round " << round << ", request " << i << ": " << answer.hidden.size() << " of "
          << expected[i].hidden.size() << " hidden states";
    }
    EXPECT_EQ(engine.check_integrity().get(), "");
    EXPECT_TRUE(engine.flush_cache().get());
    engine.stop(std::chrono::milliseconds(0));
    EXPECT_EQ(engine.stats().cached_tokens, 0);
    EXPECT_EQ(engine.stats().used_tokens, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoad, testing::Range(0, 8));

}  // namespace
}  // namespace foretoken::random_load_test
