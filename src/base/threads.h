#pragma once
// The compute thread pool: pinned workers that know only parallel_for.
// Not a task system: no futures, no nesting, one caller at a time (the engine thread, which works
// too). Workers run with FTZ and DAZ set; so does the caller inside parallel_for. Items are handed
// out dynamically, so results must not depend on which worker runs an item. Idle workers spin
// briefly, then sleep in the kernel; a core shared with another process costs its share, not a
// collapse.

#include <functional>
#include <memory>

namespace foretoken {

class ThreadPool {
 public:
  // threads: workers including the caller; 0 = usable_cores(). pin: bind each to one core.
  explicit ThreadPool(int threads = 0, bool pin = true);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(item, worker) once for each item in [0, items), worker in [0, size()); returns when
  // all are done. Few items or a pool of one run on the caller. body must not throw.
  void parallel_for(int items, const std::function<void(int item, int worker)>& body);

  // Calls body(worker) once on every worker, concurrently (first-touch placement, per-worker
  // set-up).
  void on_each_worker(const std::function<void(int worker)>& body);

  // Cores this process may use: affinity mask, capped by the CPU quota of its cgroup, at least 1.
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
