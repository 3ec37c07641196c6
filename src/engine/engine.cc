#include "engine/engine.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/threads.h"
#include "engine/inbox.h"
#include "engine/scheduler.h"
#include "engine/step.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

// Steps that may be in flight before the oldest is retired. The scheduler plans from retired
// lengths, so more than one needs plans from upper bounds.
constexpr std::size_t kRingDepth = 1;
constexpr auto kTokenCountInterval = std::chrono::milliseconds(100);

EngineConfig resolve(EngineConfig config, const TargetModel& target) {
  config.total_tokens = config.total_tokens / kPageTokens * kPageTokens;
  if (config.total_tokens <= 0)
    throw Error({.what = "the KV cache is too small",
                 .where = "max_total_tokens",
                 .expected = "at least " + std::to_string(kPageTokens) + " tokens",
                 .found = std::to_string(config.total_tokens)});
  if (config.max_running_requests <= 0)
    throw Error({.what = "no request could run",
                 .where = "max_running_requests",
                 .expected = "at least 1",
                 .found = std::to_string(config.max_running_requests)});
  for (const KvLayer& layer : target.kv_layers())
    CHECK(layer.k.dim(0) * kPageTokens >= config.total_tokens)
        << "the model's KV store has " << layer.k.dim(0) << " pages for " << config.total_tokens
        << " tokens";
  if (config.context_length <= 0 || config.context_length > config.total_tokens) {
    if (config.context_length > 0)
      log_warning("The context length {} is limited to {}, the capacity of the KV cache.",
                  config.context_length, config.total_tokens);
    config.context_length = config.total_tokens;
  }
  return config;
}

}  // namespace

struct Engine::State {
  State(const EngineConfig& wanted, Ops& ops, TargetModel& target, Drafter& drafter)
      : config(resolve(wanted, target)),
        vocab(target.vocab()),
        ops(ops),
        pool(config.total_tokens / kPageTokens),
        cache(config.radix_cache),
        step(ops, target, drafter, config.max_running_requests),
        scheduler(config, {.pool = pool,
                           .cache = cache,
                           .table = step.table(),
                           .trees = step.trees(),
                           .drafter = drafter}),
        stats(scheduler.stats()) {}

  const EngineConfig config;
  const std::int64_t vocab;
  Ops& ops;

  // Owned by the engine thread.
  PagePool pool;
  RadixCache cache;
  Step step;
  Scheduler scheduler;
  std::deque<StepHandle> ring;  // in flight, oldest first
  Clock::time_point token_counts_refreshed;

  Inbox inbox;

  mutable std::mutex mutex;  // guards what follows
  EngineStats stats;
  int submitted = 0;  // requests that lie in the inbox
  bool is_stopping = false;
  Clock::time_point stop_at = Clock::time_point::max();

  std::mutex lifecycle;  // guards start and stop
  std::thread thread;

  void run();
  bool may_continue();
  void retire_oldest();
  void publish_stats();
  std::optional<Refusal> fault(const Request& request) const;
  template <typename Answer>
  std::future<Answer> ask(std::function<Answer()> question);
};

void Engine::State::run() {
  const FlushDenormals flush;
  ops.adopt_thread();
  while (may_continue()) {
    std::optional<StepPlan> plan = scheduler.plan();
    const bool has_plan = plan.has_value();
    if (has_plan) ring.push_back(step.launch(std::move(*plan)));
    if (ring.size() == kRingDepth || (!has_plan && !ring.empty())) retire_oldest();
    publish_stats();
  }
  while (!ring.empty()) retire_oldest();
  scheduler.fail_all(FinishReason::kShutdown, "The server is shutting down.");
  publish_stats();
}

// Takes in what was posted; sleeps while there is nothing to do. False when it is time to end.
bool Engine::State::may_continue() {
  Clock::time_point until;
  bool stopping;
  {
    const std::lock_guard lock(mutex);
    until = stop_at;
    stopping = is_stopping;
  }
  const bool is_idle = scheduler.is_idle() && ring.empty();
  inbox.run_posted(is_idle && !stopping, until);
  if (is_idle) scheduler.restart_clock();
  const std::lock_guard lock(mutex);
  if (!is_stopping) return true;
  return Clock::now() < stop_at && (submitted > 0 || !scheduler.is_idle() || !ring.empty());
}

void Engine::State::retire_oldest() {
  scheduler.retire(ring.front());
  ring.pop_front();
  if (!config.check_integrity) return;
  const std::string broken = scheduler.check_integrity();
  CHECK(broken.empty()) << broken;
}

// The counters of tokens need a walk over the cache, so they are refreshed now and then, and when
// the last request has left.
void Engine::State::publish_stats() {
  const auto now = Clock::now();
  if (scheduler.is_idle() || now - token_counts_refreshed >= kTokenCountInterval) {
    scheduler.refresh_token_counts();
    token_counts_refreshed = now;
  }
  const std::lock_guard lock(mutex);
  stats = scheduler.stats();
}

std::optional<Refusal> Engine::State::fault(const Request& request) const {
  const auto input = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t output = request.max_new_tokens, context = config.context_length;
  if (input == 0) return Refusal{.message = "The input is empty: at least one token is needed."};
  for (const Token token : request.prompt)
    if (token < 0 || token >= vocab)
      return Refusal{.message = fmt::format(
                         "The input contains token id {}, which is not in the vocabulary [0, {}).",
                         token, vocab)};
  if (output < 0)
    return Refusal{.message = fmt::format("max_new_tokens must be at least 0, got {}.", output)};
  if (input >= context)
    return Refusal{.message = fmt::format("The input ({} tokens) is longer than the model's "
                                          "context length ({} tokens).",
                                          input, context)};
  if (input + output > context)
    return Refusal{
        .message = fmt::format(
            "Requested token count exceeds the model's maximum context length of {} tokens. You "
            "requested a total of {} tokens: {} tokens from the input messages and {} tokens for "
            "the completion. Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit.",
            context, input + output, input, output)};
  return std::nullopt;
}

template <typename Answer>
std::future<Answer> Engine::State::ask(std::function<Answer()> question) {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  inbox.post([promise, question = std::move(question)] { promise->set_value(question()); });
  return answer;
}

Engine::Engine(const EngineConfig& config, Ops& ops, TargetModel& target, Drafter& drafter)
    : state_(std::make_unique<State>(config, ops, target, drafter)) {}

Engine::~Engine() { stop(std::chrono::milliseconds(0)); }

void Engine::start() {
  const std::lock_guard lifecycle(state_->lifecycle);
  CHECK(!state_->thread.joinable()) << "the engine runs already";
  state_->thread = std::thread([this] { state_->run(); });
}

void Engine::stop(std::chrono::milliseconds grace) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_stopping = true;
    state_->stop_at = std::min(state_->stop_at, Clock::now() + grace);
  }
  state_->inbox.wake();
  const std::lock_guard lifecycle(state_->lifecycle);
  if (state_->thread.joinable()) state_->thread.join();
  state_->inbox.close();
  // Requests that were submitted to an engine that was never started.
  state_->scheduler.fail_all(FinishReason::kShutdown, "The server is shutting down.");
}

std::optional<Refusal> Engine::submit(Request request) {
  CHECK(request.stream != nullptr) << "a request without a stream";
  if (auto refusal = state_->fault(request)) return refusal;
  const std::lock_guard lock(state_->mutex);
  if (state_->is_stopping) return Refusal{.message = "The server is shutting down.", .status = 503};
  const int limit = state_->config.max_queued_requests;
  if (limit > 0 && state_->stats.queued + state_->submitted >= limit)
    return Refusal{.message = "The request queue is full.", .status = 503};
  ++state_->submitted;
  state_->inbox.post([state = state_.get(), accepted = std::move(request)]() mutable {
    state->scheduler.add(std::move(accepted));
    const std::lock_guard counted(state->mutex);
    --state->submitted;
    ++state->stats.queued;
  });
  return std::nullopt;
}

void Engine::abort(const std::string& id) {
  state_->inbox.post([state = state_.get(), id] { state->scheduler.abort(id); });
}

void Engine::abort_all() {
  state_->inbox.post([state = state_.get()] {
    state->scheduler.fail_all(FinishReason::kCancelled, "The request was aborted.");
  });
}

std::future<bool> Engine::flush_cache() {
  return state_->ask<bool>([state = state_.get()] { return state->scheduler.flush_cache(); });
}

std::future<std::string> Engine::check_integrity() {
  return state_->ask<std::string>(
      [state = state_.get()] { return state->scheduler.check_integrity(); });
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(state_->mutex);
  EngineStats stats = state_->stats;
  stats.queued += state_->submitted;
  return stats;
}

const EngineConfig& Engine::config() const { return state_->config; }

}  // namespace foretoken
