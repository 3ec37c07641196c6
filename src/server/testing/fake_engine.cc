#include "server/testing/fake_engine.h"

#include <algorithm>
#include <limits>

namespace foretoken {
namespace {

SampledToken scored(const Request& request, Token token) {
  SampledToken out;
  out.token = token;
  if (!request.sampling.wants_logprobs()) return out;
  out.logprob = -0.25F;
  for (int i = 0; i < request.sampling.top_logprobs; ++i)
    out.top.push_back({(token + i) % 256, -0.25F - static_cast<float>(i)});
  for (const Token wanted : request.sampling.logprob_tokens)
    out.token_logprobs.push_back(-static_cast<float>(wanted));
  return out;
}

std::vector<SampledToken> prompt_scores(const Request& request) {
  std::vector<SampledToken> out;
  if (request.logprob_start < 0) return out;
  for (auto i = static_cast<std::size_t>(request.logprob_start); i < request.prompt.size(); ++i) {
    out.push_back(scored(request, request.prompt[i]));
    if (i == 0) {
      out.back() = {};
      out.back().token = request.prompt[0];
    }
  }
  return out;
}

// Of position p: {3p, 4p}. From the position `seen` on, all but that of the last of `done` tokens.
std::vector<HiddenState> hidden_states(const Request& request, std::size_t seen, std::size_t done) {
  std::vector<HiddenState> out;
  if (request.hidden_start < 0 || done == 0) return out;
  const std::size_t end = request.prompt.size() + done - 1;
  for (auto p = std::max(seen, static_cast<std::size_t>(request.hidden_start)); p < end; ++p)
    out.push_back({3.0F * static_cast<float>(p), 4.0F * static_cast<float>(p)});
  return out;
}

}  // namespace

FakeEngine::FakeEngine(Script script) : script_(std::move(script)), thread_([this] { loop(); }) {}

FakeEngine::~FakeEngine() {
  stop_ = true;
  thread_.join();
}

std::optional<Refusal> FakeEngine::submit(Request request) {
  const std::lock_guard lock(mutex_);
  if (refusal) return refusal;
  Running running{request, script_(request)};
  received_.push_back(request);
  received_.back().stream.reset();
  running_.push_back(std::move(running));
  return std::nullopt;
}

void FakeEngine::abort(const std::string& id) {
  const std::lock_guard lock(mutex_);
  for (Running& running : running_)
    if (running.request.id == id || running.request.id.starts_with(id + "_"))
      running.aborted = true;
}

void FakeEngine::abort_all() {
  const std::lock_guard lock(mutex_);
  for (Running& running : running_) running.aborted = true;
}

std::future<bool> FakeEngine::flush_cache() {
  if (flush_answer.valid())
    return std::async(std::launch::async, [answer = flush_answer] { return answer.get(); });
  std::promise<bool> promise;
  promise.set_value(running() == 0);
  return promise.get_future();
}

std::future<std::string> FakeEngine::check_integrity() {
  std::promise<std::string> promise;
  promise.set_value(broken);
  return promise.get_future();
}

std::future<void> FakeEngine::pause(Pause how) {
  const std::lock_guard lock(mutex_);
  pause_ = how;
  std::promise<void> promise;
  promise.set_value();
  return promise.get_future();
}

void FakeEngine::resume() {
  const std::lock_guard lock(mutex_);
  pause_.reset();
}

std::optional<Pause> FakeEngine::paused() const {
  const std::lock_guard lock(mutex_);
  return pause_;
}

EngineStats FakeEngine::stats() const {
  EngineStats stats = figures;
  stats.running += running();
  stats.total_tokens = 4096;
  stats.used_tokens = 16 * stats.running;
  return stats;
}

std::vector<Request> FakeEngine::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

int FakeEngine::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(running_.size());
}

void FakeEngine::loop() {
  while (!stop_) {
    std::this_thread::sleep_for(pace.load());
    const std::lock_guard lock(mutex_);
    std::erase_if(running_, [this](Running& running) {
      const bool is_cut = running.aborted || running.request.stream->cancelled();
      return (!pause_ || is_cut) && !step(running);
    });
  }
}

// All tokens but the last were drafted by the first drafter, with a sibling of the first that was not
// taken.
DraftTrace FakeEngine::trace_of(const std::vector<SampledToken>& tokens) {
  DraftTrace trace;
  trace.tokens = static_cast<int>(tokens.size());
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    trace.drafts.push_back(
        {.token = tokens[i].token, .parent = number - 1, .chance = 0.5F, .drafters = 1});
    trace.accepted.push_back(number);
  }
  trace.drafts.push_back({.token = 'z', .parent = -1, .chance = 0.25F, .drafters = 3});
  return trace;
}

bool FakeEngine::step(Running& running) {
  const Request& request = running.request;
  TokenDelta delta;
  const auto end = [&](FinishReason reason) { delta.finish = Finish{reason, kNoToken, {}}; };
  if (request.stream->cancelled()) {
    ++cancelled_;
    end(FinishReason::kCancelled);
  } else if (running.aborted) {
    end(FinishReason::kCancelled);
  } else if (failure && static_cast<int>(running.done) >= failure_after) {
    delta.finish = failure;
  } else if (request.max_new_tokens == 0) {
    delta.prompt_scores = prompt_scores(request);
    end(FinishReason::kLength);
  }
  if (running.done == 0 && !delta.finish) delta.prompt_scores = prompt_scores(request);
  const std::size_t seen = running.done == 0 ? 0 : running.done + request.prompt.size() - 1;
  delta.cached_tokens = 1;  // a total, like all counters
  const auto& stops = request.sampling.stop_tokens;
  for (int i = 0; i < tokens_per_step && !delta.finish; ++i) {
    if (request.constraint && running.done == running.script.size()) {
      end(FinishReason::kStop);
      break;
    }
    const Token token = running.done < running.script.size() ? running.script[running.done] : 'x';
    ++running.done;
    delta.tokens.push_back(scored(request, token));
    if (std::find(stops.begin(), stops.end(), token) != stops.end())
      delta.finish = Finish{FinishReason::kStop, token, {}};
    else if (static_cast<int>(running.done) >= request.max_new_tokens)
      end(FinishReason::kLength);
  }
  delta.hidden = hidden_states(request, seen, running.done);
  delta.verify_steps = static_cast<int>(running.done + 1) / 2;
  if (with_drafts && !request.prediction.empty())
    delta.drafts.predictions = {.proposed = 1002, .accepted = 1000};
  if (with_drafts) {
    delta.proposed_drafts = 3 * delta.verify_steps;
    delta.accepted_drafts = delta.verify_steps;
    delta.accept_histogram = {0, delta.verify_steps};
    const bool is_wished = request.draft_wish.allows_drafts();
    delta.drafts.steps = delta.verify_steps;
    (is_wished ? delta.drafts.drafted : delta.drafts.unwished) = delta.verify_steps;
    delta.drafts.by_drafter[0] = {.proposed = delta.proposed_drafts,
                                  .accepted = delta.accepted_drafts};
  }
  if (request.draft_wish.is_traced && !delta.tokens.empty())
    delta.traces.push_back(trace_of(delta.tokens));
  const bool more = !delta.finish;
  request.stream->push(std::move(delta));
  return more;
}

}  // namespace foretoken
