#include "tune/engine_session.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "base/seconds_since.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

struct Asked {
  std::size_t prompt;
  std::shared_ptr<TokenStream> stream;
};

Asked ask(EnginePort& engine, const std::vector<TunePrompt>& prompts, std::size_t number,
          const AnswerWish& wish) {
  Request request = request_of(prompts[number], wish);
  request.draft_scope = number + 1;
  Asked asked{number, request.stream};
  if (const auto refusal = engine.submit(std::move(request))) throw Error(refusal->message);
  return asked;
}

// All of an answer, or none once `stop` is set: looked at after each step. Throws Error where the
// engine gave up on it.
std::optional<std::vector<SampledToken>> wait_for(TokenStream& stream,
                                                  const std::atomic<bool>& stop) {
  std::vector<SampledToken> tokens;
  while (!stop) {
    TokenDelta delta = stream.wait();
    std::ranges::move(delta.tokens, std::back_inserter(tokens));
    if (!delta.finish) continue;
    const FinishReason reason = delta.finish->reason;
    if (reason != FinishReason::kStop && reason != FinishReason::kLength)
      throw Error({.what = "an answer failed", .found = delta.finish->message});
    return tokens;
  }
  return std::nullopt;
}

void cancel_all(std::deque<Asked>& asked) {
  for (const Asked& each : asked) each.stream->cancel();
  for (const Asked& each : asked)
    while (!each.stream->wait().finish) {
    }
  asked.clear();
}

}  // namespace

Request request_of(const TunePrompt& prompt, const AnswerWish& wish) {
  Request request;
  request.id = "tune";
  request.prompt = prompt.tokens;
  request.sampling.temperature = wish.temperature;
  for (const Token token : prompt.tokens)
    request.sampling.seed = mix_seed(request.sampling.seed, static_cast<std::uint64_t>(token));
  request.sampling.top_logprobs = wish.top_logprobs;
  request.sampling.stop_tokens = wish.stop_tokens;
  request.max_new_tokens = wish.max_new_tokens;
  request.stream = std::make_shared<TokenStream>();
  return request;
}

// Answers are handed over in the order of their prompts.
void record_answers(EnginePort& engine, CandidateRecorder* recorder,
                    const std::vector<TunePrompt>& prompts, const AnswerWish& wish, int at_once,
                    const std::atomic<bool>& stop,
                    const std::function<void(RecordedText)>& on_answer) {
  std::deque<Asked> asked;
  std::size_t next = 0;
  try {
    while (!stop && (next < prompts.size() || !asked.empty())) {
      while (next < prompts.size() && asked.size() < at(2 * at_once))
        asked.push_back(ask(engine, prompts, next++, wish));
      const Asked first = asked.front();
      const auto tokens = wait_for(*first.stream, stop);
      if (!tokens) break;
      asked.pop_front();
      const TunePrompt& prompt = prompts[first.prompt];
      RecordedText text{.category = prompt.category,
                        .number = prompt.number,
                        .prompt = prompt.tokens,
                        .output = {},
                        .trees = {},
                        .tops = {}};
      for (const SampledToken& token : *tokens) {
        text.output.push_back(token.token);
        if (wish.top_logprobs > 0) text.tops.push_back(token.top);
      }
      if (recorder != nullptr) text.trees = recorder->take(first.prompt + 1);
      if (!text.output.empty()) on_answer(std::move(text));
    }
  } catch (...) {
    if (!asked.empty()) asked.pop_front();  // the one that failed is at its end
    cancel_all(asked);
    throw;
  }
  cancel_all(asked);
}

void watch_costs(EnginePort& engine, ProbePace& pace, const std::vector<TunePrompt>& prompts,
                 const AnswerWish& wish, int at_once, double seconds, const std::atomic<bool>& stop,
                 const std::function<void(double)>& on_share) {
  // In turns, because machines have slow seconds.
  constexpr double kTurn = 1, kPlainShare = 0.25;
  constexpr int kLeastAnswers = 2;  // each; of a large model these may take longer than was asked
  std::size_t next = 0;
  const auto start = Clock::now();
  const int turns = std::max(1, static_cast<int>(seconds / kTurn));
  for (int turn = 0; turn < turns && !stop; ++turn)
    for (const bool is_plain : {true, false}) {
      pace.set_plain(is_plain);
      const double until = seconds * (turn + (is_plain ? kPlainShare : 1)) / turns;
      std::deque<Asked> asked;
      int answers = 0;
      while (!stop && (seconds_since(start) < until || answers < kLeastAnswers)) {
        while (asked.size() < at(2 * at_once))
          asked.push_back(ask(engine, prompts, next++ % prompts.size(), wish));
        if (!wait_for(*asked.front().stream, stop)) break;
        asked.pop_front();
        ++answers;
        on_share(std::min(1.0, seconds_since(start) / seconds));
      }
      cancel_all(asked);
    }
}

}  // namespace foretoken
