#pragma once
// The compute thread pool: pinned workers that know only parallel_for.
// Not a task system: no futures, no nesting, one caller at a time (the engine thread, which works
// too). Workers run with FTZ and DAZ set; so does the caller inside parallel_for. Each worker
// starts on its own contiguous share of the items and then takes from the others, so results must
// not depend on which worker runs an item. A region costs a few cache lines per worker, not the
// square of their number (see item_shares.h). Nobody waits for a worker that has not begun an item,
// and every wait ends in the kernel: a core shared with another process costs its share, not a
// collapse.

#include <cstdint>
#include <functional>
#include <memory>

namespace foretoken {

class ThreadPool {
 public:
  // threads: workers including the caller; 0 = usable_cores(). pin: bind each worker to one core
  // while nobody else wants it; ignored unless the pool fills the machine, because two small pools
  // would take the same cores. first_region: where the count of regions begins, which wraps after
  // hours of small steps; tests begin just before that.
  explicit ThreadPool(int threads = 0, bool pin = true, std::uint32_t first_region = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(item, worker) once for each item in [0, items), worker in [0, size()); returns when
  // all are done. The caller is worker 0. Few items or a pool of one run on the caller. body must
  // not call parallel_for. What body throws is thrown here, the first of it, once no worker runs an
  // item any more; whether the other items were run is then unknown.
  void parallel_for(int items, const std::function<void(int item, int worker)>& body);

  // Calls body(worker) once on every worker, concurrently (first-touch placement, per-worker
  // set-up). What it throws is thrown here.
  void on_each_worker(const std::function<void(int worker)>& body);

  // Binds the calling thread to worker 0's core, when the pool pins. For the thread that calls
  // parallel_for from now on; threads that it starts later inherit the binding.
  void pin_caller();

  // Cores this process may use: physical cores of the affinity mask, capped by the CPU quota of its
  // cgroup (a fraction counts as a core), at least 1.
  static int usable_cores();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sets flush-to-zero and denormals-are-zero for a scope on this thread (numeric contract of all
// kernels).
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace foretoken
