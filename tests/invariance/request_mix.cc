#include "invariance/request_mix.h"

#include <memory>
#include <random>
#include <utility>

#include "batch/testing/hash_constraint.h"

namespace foretoken {
namespace {

class Mix {
 public:
  explicit Mix(std::int64_t vocab) : vocab_(vocab), shared_(text(40)) {}

  std::vector<Token> text(int size) {
    std::vector<Token> tokens;
    for (int i = 0; i < size; ++i)
      tokens.push_back(static_cast<Token>(random_() % static_cast<std::uint64_t>(vocab_)));
    return tokens;
  }

  // `own` tokens after the shared beginning.
  std::vector<Token> shared_and(int own) {
    std::vector<Token> tokens = shared_;
    for (const Token token : text(own)) tokens.push_back(token);
    return tokens;
  }

  Request& add(std::vector<Token> prompt, int max_new_tokens, float temperature) {
    Request& request = requests_.emplace_back();
    request.prompt = std::move(prompt);
    request.max_new_tokens = max_new_tokens;
    request.sampling.temperature = temperature;
    request.sampling.seed = requests_.size();
    request.sampling.top_logprobs = 4;
    return request;
  }

  std::vector<Request> take() { return std::move(requests_); }

 private:
  std::int64_t vocab_;
  std::mt19937_64 random_{20};
  std::vector<Token> shared_;
  std::vector<Request> requests_;
};

}  // namespace

std::vector<Request> request_mix(std::int64_t vocab) {
  Mix mix(vocab);
  mix.add(mix.shared_and(5), 24, 0.0F);
  Request& shown = mix.add(mix.shared_and(9), 24, 1.0F);
  shown.hidden_start = static_cast<int>(shown.prompt.size()) - 4;

  auto& filtered = mix.add(mix.text(1), 20, 1.0F).sampling;
  filtered.top_k = 20;
  filtered.top_p = 0.9F;

  mix.add(mix.text(180), 8, 0.0F).logprob_start = 0;

  auto& penalised = mix.add(mix.shared_and(20), 24, 0.7F).sampling;
  penalised.min_p = 0.02F;
  penalised.frequency_penalty = 0.5F;
  penalised.presence_penalty = 0.3F;
  penalised.repetition_penalty = 1.2F;
  penalised.logprob_tokens = {1, 7};

  Request& crossing = mix.add(mix.text(121), 20, 1.0F);  // decodes across a block's end
  crossing.hidden_start = 0;
  auto& bounded = crossing.sampling;
  bounded.logit_bias = {{3, 2.5F}, {5, -100.0F}, {8, 1.0F}};
  bounded.stop_tokens = {3, 40};
  bounded.min_new_tokens = 6;

  mix.add(mix.shared_and(0), 16, 1.0F);  // twice the same prompt
  mix.add(mix.shared_and(0), 16, 0.0F);

  Request& scored = mix.add(mix.text(280), 6, 0.0F);  // three blocks, the last rows scored
  scored.logprob_start = 260;
  scored.sampling.repetition_penalty = 1.1F;

  for (const float temperature : {0.0F, 1.0F}) {
    Request& constrained = mix.add(mix.shared_and(7), 20, temperature);
    constrained.sampling.stop_tokens = {9};
    constrained.constraint = std::make_shared<HashConstraintSource>(
        HashConstraint::Rules{.seed = temperature > 0 ? 1U : 2U,
                              .vocab = static_cast<int>(vocab),
                              .stops = constrained.sampling.stop_tokens});
  }

  mix.add(mix.shared_and(30), 0, 1.0F).logprob_start = 50;  // nothing but prompt logprobs
  return mix.take();
}

std::vector<Request> long_request_mix(std::int64_t vocab) {
  Mix mix(vocab);
  mix.add(mix.text(504), 16, 0.0F).logprob_start = 496;
  mix.add(mix.text(580), 2, 1.0F).logprob_start = 500;  // windows begin on both sides of 512
  mix.add(mix.text(1018), 14, 0.0F).logprob_start = 1010;
  return mix.take();
}

}  // namespace foretoken
