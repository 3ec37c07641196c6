#include "engine/testing/answers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace foretoken {
namespace {

bool same_float(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

std::string token_difference(const SampledToken& a, const SampledToken& b) {
  if (a.token != b.token) return fmt::format("token {} against {}", a.token, b.token);
  if (!same_float(a.logprob, b.logprob))
    return fmt::format("logprob {:.9g} against {:.9g}", a.logprob, b.logprob);
  if (a.top.size() != b.top.size() || a.token_logprobs.size() != b.token_logprobs.size())
    return "numbers of alternatives";
  for (std::size_t i = 0; i < a.top.size(); ++i)
    if (a.top[i].token != b.top[i].token || !same_float(a.top[i].logprob, b.top[i].logprob))
      return fmt::format("alternative {}: {} ({:.9g}) against {} ({:.9g})", i, a.top[i].token,
                         a.top[i].logprob, b.top[i].token, b.top[i].logprob);
  for (std::size_t i = 0; i < a.token_logprobs.size(); ++i)
    if (!same_float(a.token_logprobs[i], b.token_logprobs[i]))
      return fmt::format("logprob of wanted token {}", i);
  return {};
}

using Streams = std::vector<std::shared_ptr<TokenStream>>;

Streams submit_all(EnginePort& engine, std::vector<Request> requests) {
  Streams streams;
  for (Request& request : requests) {
    request.stream = std::make_shared<TokenStream>();
    streams.push_back(request.stream);
    const auto refusal = engine.submit(std::move(request));
    CHECK(!refusal) << refusal->message;
  }
  return streams;
}

std::vector<TokenDelta> collect_all(const Streams& streams) {
  std::vector<TokenDelta> answers;
  for (const auto& stream : streams) answers.push_back(collect(*stream));
  return answers;
}

}  // namespace

TokenDelta collect(TokenStream& stream) {
  TokenDelta all;
  while (!all.finish) {
    TokenDelta part = stream.wait();
    for (auto [from, to] : {std::pair{&all.tokens, &part.tokens},
                            std::pair{&all.prompt_scores, &part.prompt_scores}}) {
      std::move(to->begin(), to->end(), std::back_inserter(*from));
      *to = std::move(*from);
    }
    std::move(part.hidden.begin(), part.hidden.end(), std::back_inserter(all.hidden));
    part.hidden = std::move(all.hidden);
    std::move(part.traces.begin(), part.traces.end(), std::back_inserter(all.traces));
    part.traces = std::move(all.traces);
    all = std::move(part);
  }
  return all;
}

std::vector<TokenDelta> run_requests(EnginePort& engine, std::vector<Request> requests) {
  return collect_all(submit_all(engine, std::move(requests)));
}

std::vector<TokenDelta> start_and_run(Engine& engine, std::vector<Request> requests) {
  const auto streams = submit_all(engine, std::move(requests));
  engine.start();
  return collect_all(streams);
}

std::string difference(const std::vector<SampledToken>& a, const std::vector<SampledToken>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (auto found = token_difference(a[i], b[i]); !found.empty())
      return fmt::format("at {}: {}", i, found);
  if (a.size() != b.size()) return fmt::format("{} tokens against {}", a.size(), b.size());
  return {};
}

bool same_bits(const std::vector<HiddenState>& a, const std::vector<HiddenState>& b) {
  return std::ranges::equal(a, b, [](const HiddenState& x, const HiddenState& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
}

}  // namespace foretoken
