#include "engine/engine.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "backend/device_lost.h"
#include "base/cpu_time.h"
#include "base/heap.h"
#include "base/index.h"
#include "base/log.h"
#include "base/threads.h"
#include "engine/inbox.h"
#include "engine/request_fault.h"
#include "engine/scheduler.h"
#include "engine/step.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMemoryRetry = std::chrono::milliseconds(10);
// How often a paused engine looks for requests that were cancelled or whose time is over.
constexpr auto kPausedLook = std::chrono::milliseconds(20);

EngineConfig resolve(EngineConfig config, const TargetModel& target) {
  if (config.total_tokens < kPageTokens)
    throw Error({.what = "the KV cache is too small",
                 .where = "max_total_tokens",
                 .expected = "at least " + std::to_string(kPageTokens) + " tokens",
                 .found = std::to_string(config.total_tokens)});
  if (config.max_running_requests <= 0)
    throw Error({.what = "no request could run",
                 .where = "max_running_requests",
                 .expected = "at least 1",
                 .found = std::to_string(config.max_running_requests)});
  if (config.has_ranks && config.policy != SchedulePolicy::kFcfs)
    throw Error({.what = "requests of different rank are served first come first served",
                 .where = "schedule_policy",
                 .expected = "fcfs",
                 .found = "another policy"});
  for (const KvLayer& layer : target.kv_layers())
    CHECK(layer.states.shape.is_on() || layer.k.dim(0) >= pages_for(config.total_tokens))
        << "the model's KV store has " << layer.k.dim(0) << " pages for " << config.total_tokens
        << " tokens";
  if (config.context_length <= 0 || config.context_length > config.total_tokens) {
    if (config.context_length > 0)
      log_warning("The context length {} is limited to {}, the capacity of the KV cache.",
                  config.context_length, config.total_tokens);
    config.context_length = config.total_tokens;
  }
  if (config.radix_cache && target.keeps_states() && target.state_snapshots() == 0) {
    log_info("No prefix cache: there is no memory for the states that layers keep of texts.");
    config.radix_cache = false;
  }
  return config;
}

}  // namespace

struct Engine::State {
  State(const EngineConfig& wanted, Ops& ops, TargetModel& target, Drafter& drafter)
      : config(resolve(wanted, target)),
        vocab(target.vocab()),
        ops(ops),
        pool(pages_for(config.total_tokens)),
        snapshots(target.state_snapshots()),
        cache(pool, config.radix_cache, target.keeps_states() ? &snapshots : nullptr),
        step(ops, target, drafter, config.max_running_requests, config.logit_slice_bytes),
        runner(step, config.ring_depth > 1, [&ops] { ops.adopt_thread(); }),
        parts{.pool = pool,
              .cache = cache,
              .slots = step.slots(),
              .max_nodes = step.max_nodes(),
              .scratch_slots = step.scratch_slots()},
        scheduler(std::in_place, config, parts),
        idle(config.idle),
        stats(scheduler->stats()) {}

  const EngineConfig config;
  const std::int64_t vocab;
  Ops& ops;

  // Owned by the engine thread; the step, by the thread that computes it.
  PagePool pool;
  PagePool snapshots;  // of states
  RadixCache cache;
  Step step;
  StepRunner runner;
  const Scheduler::Parts parts;
  std::optional<Scheduler> scheduler;
  IdleMemory idle;
  std::deque<StepHandle> ring;              // in flight, oldest first
  std::vector<std::promise<void>> pausing;  // told when no step is in flight

  Inbox inbox;

  mutable std::mutex mutex;  // guards what follows
  EngineStats stats;
  std::string lost;   // the reason, once the device is
  int submitted = 0;  // requests that lie in the inbox
  bool is_stopping = false;
  Clock::time_point stop_at = Clock::time_point::max();

  std::mutex lifecycle;  // guards start and stop
  std::thread thread;
  std::function<void()> when_lost;

  void run();
  bool run_once();
  void make_step();
  FoundTaker told_early();
  void answer_pausing();
  void start_anew(const std::exception& failure);
  bool close_door(const DeviceLost& loss);
  template <typename Work>
  void do_at_last(const Work& work);
  bool has_work() const;
  bool is_resting() const;
  bool may_continue();
  void give_back(IdleMemory::Due due);
  bool flush_cache();
  void retire_oldest();
  std::string check();
  void publish_stats();
  std::optional<Refusal> closed_door() const;  // with the mutex held
  template <typename Answer>
  std::future<Answer> ask(std::function<Answer()> question);
};

void Engine::State::run() {
  name_thread("engine");
  const FlushDenormals flush;
  if (config.ring_depth == 1) ops.adopt_thread();
  for (bool goes_on = true; goes_on;) do_at_last([&] { goes_on = run_once(); });
  do_at_last([&] {
    while (!ring.empty()) retire_oldest();
    scheduler->fail_all(FinishReason::kShutdown, "The server is shutting down.");
    while (scheduler->has_news()) make_step();  // the drafter hears of it
    answer_pausing();
    publish_stats();
  });
  // Trees that nobody waits for may still be drafted; then the models may go.
  try {
    ops.read_back();
  } catch (const std::exception& failure) {
    log_error("The device failed at the end: {}.", failure.what());
  }
}

// Takes in what was posted and makes a step. False when it is time to end.
bool Engine::State::run_once() {
  if (!may_continue()) return false;
  make_step();
  publish_stats();
  return true;
}

void Engine::State::make_step() {
  std::optional<StepOrder> plan = scheduler->plan();
  const bool has_plan = plan.has_value();
  if (has_plan) ring.push_back(runner.launch(std::move(*plan), told_early()));
  const bool is_full = ring.size() >= static_cast<std::size_t>(config.ring_depth);
  if (is_full || (!has_plan && !ring.empty())) retire_oldest();
  if (!has_plan && ring.empty()) answer_pausing();
}

// Where a thread computes, nothing is told before the step is done: the scheduler is not its.
FoundTaker Engine::State::told_early() {
  if (config.ring_depth > 1) return {};
  return [this](const StepOrder& order, StepResult& result) { scheduler->tell(order, result); };
}

void Engine::State::answer_pausing() {
  for (std::promise<void>& waiting : std::exchange(pausing, {})) waiting.set_value();
}

// Does it again after a failure. Only the system refusing memory fails here; each time fewer
// requests are left that need any.
template <typename Work>
void Engine::State::do_at_last(const Work& work) {
  for (;;) try {
      return work();
    } catch (const std::exception& failure) {
      start_anew(failure);
    }
}

// Nothing is trusted that a step, or the plan of one, may have left half done: those that ran end
// with a reason, the prefix cache is emptied, and a new scheduler takes over those that wait.
void Engine::State::start_anew(const std::exception& failure) {
  const auto* loss = dynamic_cast<const DeviceLost*>(&failure);
  const bool is_news = loss != nullptr && close_door(*loss);
  if (loss != nullptr) scheduler->end_running(FinishReason::kShutdown, loss->what());
  ring.clear();
  runner.reset();
  WaitQueue waiting = scheduler->abandon();
  const EngineStats before = scheduler->stats();
  const std::optional<Pause> pause = scheduler->paused();
  scheduler.reset();
  while (!scheduler) try {
      scheduler.emplace(config, parts, before);
      if (loss == nullptr)
        log_error("A step failed: {}. The requests in it have ended, those that wait go on.",
                  failure.what());
      else if (is_news)
        log_error("Nothing is computed any more, all requests have ended: {}.", failure.what());
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kMemoryRetry);
    }
  if (pause) scheduler->pause(*pause);
  for (auto& [place, sequence] : waiting) {
    if (loss != nullptr)
      sequence->end_stream(FinishReason::kShutdown, loss->what());
    else
      scheduler->add(std::move(sequence));
  }
  if (is_news && when_lost) when_lost();
}

// No request is taken in any more; those that lie in the inbox meet the same failure. Whether this
// is the first one.
bool Engine::State::close_door(const DeviceLost& loss) {
  const std::lock_guard lock(mutex);
  if (!lost.empty()) return false;
  lost = stats.fault = loss.what();
  return true;
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
  if (stopping) scheduler->resume();
  const bool is_idle = !has_work(), rests = is_idle || is_resting();
  if (is_idle) {
    until = std::min(until, idle.next(Clock::now()));
  } else {
    until = std::min(until, Clock::now() + kPausedLook);
    idle.work();
  }
  inbox.run_posted(rests && !stopping, until);
  if (is_idle) {
    scheduler->restart_clock();
    if (!has_work()) give_back(idle.take(Clock::now()));
  }
  const std::lock_guard lock(mutex);
  if (!is_stopping) return true;
  return Clock::now() < stop_at && (submitted > 0 || has_work());
}

// What is computed again is the same to the bit.
void Engine::State::give_back(IdleMemory::Due due) {
  if (due == IdleMemory::Due::kNothing) return;
  if (due == IdleMemory::Due::kCachedTexts && cache.num_pages() > 0) {
    scheduler->flush_cache();
    log_info("Nobody asked for long: the prefix cache is emptied, its memory given back.");
  }
  ops.release_kv(pool.free_pages());
  ops.release_scratch();
  release_free_heap();
}

bool Engine::State::flush_cache() {
  const bool is_done = scheduler->flush_cache();
  if (is_done) idle.pages_freed();
  return is_done;
}

void Engine::State::retire_oldest() {
  scheduler->retire(ring.front());
  ring.pop_front();
  if (!config.check_integrity) return;
  const std::string broken = check();
  CHECK(broken.empty()) << broken;
}

bool Engine::State::has_work() const {
  return !scheduler->is_idle() || scheduler->has_news() || !ring.empty();
}

// Paused, and those that have left are told.
bool Engine::State::is_resting() const {
  return scheduler->is_paused() && ring.empty() && !scheduler->has_news() && pausing.empty();
}

std::string Engine::State::check() {
  return scheduler->check_integrity(ring.empty() ? &step : nullptr);
}

void Engine::State::publish_stats() {
  const std::lock_guard lock(mutex);
  stats = scheduler->stats();
  stats.fault = lost;
}

std::optional<Refusal> Engine::State::closed_door() const {
  if (is_stopping) return Refusal{.message = "The server is shutting down.", .status = 503};
  if (!lost.empty()) return Refusal{.message = lost, .status = 503};
  const int limit = config.max_queued_requests;
  if (limit > 0 && !config.has_ranks && stats.queued + submitted >= limit)
    return Refusal{.message = "The request queue is full.", .status = 503};
  return std::nullopt;
}

template <typename Answer>
std::future<Answer> Engine::State::ask(std::function<Answer()> question) {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  inbox.post([promise, question = std::move(question)] {
    try {
      promise->set_value(question());
    } catch (...) {
      promise->set_exception(std::current_exception());
      throw;
    }
  });
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
  state_->do_at_last([&] {
    state_->inbox.close();
    // Requests that were submitted to an engine that was never started.
    state_->scheduler->fail_all(FinishReason::kShutdown, "The server is shutting down.");
  });
}

std::optional<Refusal> Engine::submit(Request request) {
  CHECK(request.stream != nullptr) << "a request without a stream";
  if (auto refusal = fault_of(request, state_->vocab, state_->config.context_length))
    return refusal;
  {
    const std::lock_guard lock(state_->mutex);
    if (auto refusal = state_->closed_door()) return refusal;
  }
  if (state_->config.greedy) request.sampling.temperature = 0.0F;
  request.accepted = Clock::now();
  // Commands can be copied, a sequence cannot. Made here, because that takes longer for a longer
  // prompt, and without the lock.
  const auto accepted =
      std::make_shared<std::unique_ptr<Sequence>>(std::make_unique<Sequence>(std::move(request)));
  const std::lock_guard lock(state_->mutex);
  if (auto refusal = state_->closed_door()) return refusal;
  // The command waits for the lock before it counts down.
  state_->inbox.post([state = state_.get(), accepted] {
    state->scheduler->add(std::move(*accepted));
    const std::lock_guard counted(state->mutex);
    --state->submitted;
    ++state->stats.queued;
  });
  ++state_->submitted;
  return std::nullopt;
}

void Engine::on_device_lost(std::function<void()> told) { state_->when_lost = std::move(told); }

void Engine::abort(const std::string& id) {
  state_->inbox.post([state = state_.get(), id] { state->scheduler->abort(id); });
}

void Engine::abort_all() {
  state_->inbox.post([state = state_.get()] { state->scheduler->cancel_all(); });
}

std::future<bool> Engine::flush_cache() {
  return state_->ask<bool>([state = state_.get()] { return state->flush_cache(); });
}

std::future<std::string> Engine::check_integrity() {
  return state_->ask<std::string>([state = state_.get()] { return state->check(); });
}

std::future<void> Engine::pause(Pause how) {
  auto promise = std::make_shared<std::promise<void>>();
  std::future<void> done = promise->get_future();
  state_->inbox.post([state = state_.get(), how, promise] {
    state->scheduler->pause(how);
    state->pausing.push_back(std::move(*promise));
    if (!state->has_work()) state->answer_pausing();
  });
  return done;
}

void Engine::resume() {
  state_->inbox.post([state = state_.get()] { state->scheduler->resume(); });
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(state_->mutex);
  EngineStats stats = state_->stats;
  stats.queued += state_->submitted;
  return stats;
}

const EngineConfig& Engine::config() const { return state_->config; }

}  // namespace foretoken
