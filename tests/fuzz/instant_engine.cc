#include "instant_engine.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace foretoken::fuzz {
namespace {

constexpr std::string_view kAnswer = "Yes: \xC3\xA9\xF0\x9F\x98\x80\n\"x\" </stop> \xFF";
constexpr Token kByteTokens = 256;

template <typename T>
std::future<T> already(T value) {
  std::promise<T> promise;
  promise.set_value(std::move(value));
  return promise.get_future();
}

SampledToken plain(Token token) {
  SampledToken out;
  out.token = token;
  return out;
}

SampledToken scored(const Request& request, Token token) {
  SampledToken out = plain(token);
  if (!request.sampling.wants_logprobs()) return out;
  out.logprob = -0.25F;
  for (int i = 0; i < request.sampling.top_logprobs; ++i)
    out.top.push_back({(token + i) % kByteTokens, -0.25F});
  out.token_logprobs.assign(request.sampling.logprob_tokens.size(), -1.0F);
  return out;
}

}  // namespace

std::optional<Refusal> InstantEngine::submit(Request request) {
  CHECK(!request.prompt.empty()) << "an empty prompt";
  CHECK(request.max_new_tokens >= 0) << "a negative limit";
  TokenDelta prompt;
  if (request.logprob_start >= 0)
    for (auto i = static_cast<std::size_t>(request.logprob_start); i < request.prompt.size(); ++i)
      prompt.prompt_scores.push_back(i == 0 ? plain(request.prompt[0])
                                            : scored(request, request.prompt[i]));
  request.stream->push(std::move(prompt));

  const auto& stops = request.sampling.stop_tokens;
  const auto limit = std::min(kAnswer.size(), static_cast<std::size_t>(request.max_new_tokens));
  TokenDelta last;
  last.finish = Finish{FinishReason::kLength, kNoToken, {}};
  for (std::size_t i = 0; i < limit; ++i) {
    const Token token = static_cast<unsigned char>(kAnswer[i]);
    last.tokens.push_back(scored(request, token));
    if (std::find(stops.begin(), stops.end(), token) == stops.end()) continue;
    last.finish = Finish{FinishReason::kStop, token, {}};
    break;
  }
  last.verify_steps = static_cast<int>(last.tokens.size());
  last.accept_histogram = {last.verify_steps};
  request.stream->push(std::move(last));
  return std::nullopt;
}

std::future<bool> InstantEngine::flush_cache() { return already(true); }

std::future<void> InstantEngine::pause(Pause) {
  std::promise<void> promise;
  promise.set_value();
  return promise.get_future();
}

std::future<std::string> InstantEngine::check_integrity() { return already(std::string()); }

}  // namespace foretoken::fuzz
