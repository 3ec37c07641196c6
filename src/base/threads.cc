#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

#include "base/cores.h"
#include "base/cpu_time.h"
#include "base/error.h"
#include "base/item_shares.h"
#include "base/processor.h"

namespace foretoken {
namespace {

// How long a wait watches before it sleeps: longer than the serial stretches inside a step, shorter
// than what another process would miss.
constexpr std::chrono::microseconds kSpin{200};

// Watches `done` for at most kSpin; false when it did not come true.
template <class Done>
bool spin_until(Done done, bool yields) {
  using Clock = std::chrono::steady_clock;
  if (done()) return true;
  const auto start = Clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      pause_in_wait();
      if (done()) return true;
    }
    if (yields) sched_yield();
  } while (Clock::now() - start < kSpin);
  return false;
}

// What idle workers sleep on: [number of the region : 31 | its kind : 1]. The kind lies in the same
// word as the number, so that a worker knows what it was woken for however late it looks, and no
// number means anything of its own when the count wraps. (Only a worker that slept through all 2^31
// numbers would take a new region for the one it knows.)
using RegionWord = std::uint32_t;
enum class RegionKind : RegionWord { kItems = 0, kEachWorker = 1 };

RegionKind kind_of(RegionWord word) { return static_cast<RegionKind>(word & 1U); }

RegionWord following(RegionWord word, RegionKind kind) {
  return ((word | 1U) + 1U) | static_cast<RegionWord>(kind);
}

// Keeps a thread on one core while it has that core for itself, and lets the system place it while
// the core is shared: a bound thread would wait for its core beside others that are idle.
// Used by the thread it places.
class Placement {
 public:
  // Both refused inside some sandboxes; the system then places the thread.
  void start(const CoreSet& core, const CoreSet& all) {
    core_ = core;
    all_ = all;
    bind(true);
    restart_interval();
  }

  // Called often; looks at most every kInterval whether others interrupted the thread.
  void review() {
    if (Clock::now() - since_ < kInterval) return;
    const long interruptions = interruptions_of_thread() - interrupted_;
    if (is_bound_ && interruptions > kTooMany) {
      bind(false);
    } else if (!is_bound_) {
      quiet_intervals_ = interruptions == 0 ? quiet_intervals_ + 1 : 0;
      if (quiet_intervals_ == kQuietIntervals) bind(true);
    }
    restart_interval();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};
  static constexpr long kTooMany = 3;         // interruptions per interval; an idle system has none
  static constexpr int kQuietIntervals = 20;  // without any before the thread is bound again

  void bind(bool to_core) {
    bind_thread(to_core ? core_ : all_);
    is_bound_ = to_core;
    quiet_intervals_ = 0;
  }
  void restart_interval() {
    since_ = Clock::now();
    interrupted_ = interruptions_of_thread();
  }

  CoreSet core_{}, all_{};
  bool is_bound_ = false;
  int quiet_intervals_ = 0;
  long interrupted_ = 0;
  Clock::time_point since_;
};

}  // namespace

struct ThreadPool::State {
  State(int threads, std::uint32_t first_region)
      : first(first_region << 1), size(threads), shares(threads) {}

  const RegionWord first;  // of no region: what workers that have seen none compare with

  const int size;
  ItemShares shares;
  // Read only by who has taken an item, which keeps its region open: the right ones, however late
  // it was.
  const std::function<void(int, int)>* body = nullptr;
  const std::function<void(int)>* each_body = nullptr;
  // Written by the caller, by read-modify-write only: notify relies on the full barrier.
  alignas(64) std::atomic<RegionWord> region{first};
  alignas(64) std::atomic<std::uint32_t> left{0};  // items not finished; the caller sleeps on it
  std::atomic<bool> stopping{false};
  bool yields = false;         // more workers than cores: spinning would keep one from working
  std::vector<CoreSet> cores;  // one per worker; empty: the pool does not pin
  CoreSet all_cores{};
  Placement caller;  // in use once pin_caller() was called, by that thread
  std::thread::id pinned_caller;
  std::vector<std::thread> workers;
  std::mutex failing;          // guards `failure` while a region is open
  std::exception_ptr failure;  // the first of the region

  void begin_region(RegionKind kind) {
    region.exchange(following(region.load(std::memory_order_relaxed), kind),
                    std::memory_order_acq_rel);
    region.notify_all();
  }
  void wait_for_the_rest() {
    const auto finished = [&] { return left.load(std::memory_order_acquire) == 0; };
    if (spin_until(finished, yields)) return;
    for (std::uint32_t n = left.load(std::memory_order_acquire); n != 0;
         n = left.load(std::memory_order_acquire))
      left.wait(n, std::memory_order_acquire);
  }
  // What the region's body threw, on the caller's thread.
  void end_region() {
    wait_for_the_rest();
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
  template <typename Run>
  void guard(const Run& run) {
    try {
      run();
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
  }
  void report(std::uint32_t finished) {
    if (left.fetch_sub(finished, std::memory_order_acq_rel) == finished) left.notify_one();
  }

  // Runs items until none are left, beginning with the worker's own share. Reports once: finished
  // items that are not reported keep the region open.
  void work(int worker) {
    std::uint32_t finished = 0;
    ItemShares::Taker taker(shares, worker);
    for (int item = taker.next(); item >= 0; item = taker.next(), ++finished)
      guard([&] { (*body)(item, worker); });
    if (finished > 0) report(finished);
  }

  void stop() {
    stopping.store(true, std::memory_order_relaxed);
    begin_region(RegionKind::kItems);
    for (std::thread& worker : workers) worker.join();
  }

  void worker_loop(int worker) {
    name_thread("compute");
    Placement placement;
    if (!cores.empty()) placement.start(cores[static_cast<std::size_t>(worker)], all_cores);
    set_float_mode(float_mode() | kFlushesDenormals);
    RegionWord seen = first;
    for (;;) {
      const auto begun = [&] { return region.load(std::memory_order_acquire) != seen; };
      if (!spin_until(begun, yields)) region.wait(seen, std::memory_order_acquire);
      seen = region.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_relaxed)) return;
      if (!cores.empty()) placement.review();
      if (kind_of(seen) == RegionKind::kEachWorker) {
        guard([&] { (*each_body)(worker); });
        report(1);
      } else {
        work(worker);
      }
    }
  }
};

ThreadPool::ThreadPool(int threads, bool pin, std::uint32_t first_region) {
  const int cores = usable_cores();
  const int count = threads > 0 ? threads : cores;
  state_ = std::make_unique<State>(count, first_region);
  state_->yields = count > cores;
  std::vector<CoreSet> sets = usable_core_sets();
  state_->all_cores = joined(sets);
  if (pin && static_cast<int>(sets.size()) == count) state_->cores = std::move(sets);
  state_->workers.reserve(static_cast<std::size_t>(count));
  try {
    for (int worker = 1; worker < count; ++worker)
      state_->workers.emplace_back([state = state_.get(), worker] { state->worker_loop(worker); });
  } catch (const std::system_error& error) {
    state_->stop();
    throw Error({.what = "cannot start compute threads",
                 .where = {},
                 .expected = std::to_string(count),
                 .found = std::to_string(state_->workers.size() + 1) + ", then " + error.what()});
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::size() const { return state_->size; }

void ThreadPool::parallel_for(int items, const std::function<void(int, int)>& body) {
  const FlushDenormals flush;
  State& s = *state_;
  if (s.size == 1 || items <= 1) {
    for (int item = 0; item < items; ++item) body(item, 0);
    return;
  }
  if (std::this_thread::get_id() == s.pinned_caller) s.caller.review();
  s.body = &body;
  s.left.store(static_cast<std::uint32_t>(items), std::memory_order_relaxed);
  s.shares.open(items);
  s.begin_region(RegionKind::kItems);
  s.work(0);
  s.end_region();
}

void ThreadPool::on_each_worker(const std::function<void(int)>& body) {
  const FlushDenormals flush;
  State& s = *state_;
  s.each_body = &body;
  s.left.store(static_cast<std::uint32_t>(s.size), std::memory_order_relaxed);
  s.begin_region(RegionKind::kEachWorker);
  s.guard([&] { body(0); });
  s.report(1);
  s.end_region();
}

void ThreadPool::pin_caller() {
  if (state_->cores.empty()) return;
  state_->caller.start(state_->cores[0], state_->all_cores);
  state_->pinned_caller = std::this_thread::get_id();
}

int ThreadPool::usable_cores() {
  const int cores = static_cast<int>(usable_core_sets().size());
  const std::optional<double> limit = cgroup_cpu_limit();
  if (!limit) return cores;
  return std::clamp(static_cast<int>(std::ceil(*limit - 0.01)), 1, cores);
}

FlushDenormals::FlushDenormals() : saved_(float_mode()) {
  set_float_mode(saved_ | kFlushesDenormals);
}

FlushDenormals::~FlushDenormals() {
  // Keeps the exception flags that were raised inside.
  set_float_mode((float_mode() & ~kFlushesDenormals) | (saved_ & kFlushesDenormals));
}

}  // namespace foretoken
