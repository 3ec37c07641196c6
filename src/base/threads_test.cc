#include "base/threads.h"
#include "base/index.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <limits>
#include <new>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// True under flush-to-zero, whatever the compiler knows about constants.
bool denormals_are_flushed() {
  volatile float tiny = std::numeric_limits<float>::min();
  volatile float half = tiny * 0.5F;
  return half == 0.0F;
}

TEST(ThreadPool, runs_each_item_once_for_any_number_of_items_and_threads) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads, false);
    EXPECT_EQ(pool.size(), threads);
    for (const int items : {0, 1, 2, 3, 7, 64, 1001}) {
      std::vector<std::atomic<int>> runs(at(items));
      pool.parallel_for(items, [&](int item, int worker) {
        EXPECT_TRUE(worker >= 0 && worker < threads);
        runs[at(item)].fetch_add(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, regions_in_quick_succession_do_not_mix) {
  ThreadPool pool(4, false);
  for (int region = 0; region < 20000; ++region) {
    const int items = 1 + region % 13;
    std::atomic<int> sum{0};
    pool.parallel_for(items, [&](int item, int) { sum.fetch_add(item + region); });
    ASSERT_EQ(sum.load(), items * region + items * (items - 1) / 2);
  }
}

TEST(ThreadPool, wakes_workers_that_fell_asleep) {
  ThreadPool pool(3, false);
  for (int region = 0; region < 50; ++region) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    std::latch together(3);  // opens only when three workers are inside at once
    pool.parallel_for(3, [&](int, int) { together.arrive_and_wait(); });
  }
}

TEST(ThreadPool, others_take_the_items_of_a_worker_that_is_held_up) {
  ThreadPool pool(3, false);
  constexpr int kItems = 300;
  std::atomic<int> finished{0};
  pool.parallel_for(kItems, [&](int item, int) {
    if (item == 0)  // first of worker 0's share; the rest of that share must not wait for it
      while (finished.load() < kItems - 1) std::this_thread::yield();
    finished.fetch_add(1);
  });
  EXPECT_EQ(finished.load(), kItems);
}

// A thread that another process has pushed off its core: it stops wherever it is, for as long as
// the test likes.
class HeldThread {
 public:
  explicit HeldThread(pthread_t thread) {
    sem_init(&stopped_, 0, 0);
    sem_init(&released_, 0, 0);
    struct sigaction action{};
    action.sa_handler = [](int) {
      sem_post(&stopped_);
      while (sem_wait(&released_) != 0) {
      }
      sem_post(&stopped_);
    };
    sigaction(SIGUSR1, &action, &before_);
    pthread_kill(thread, SIGUSR1);
    wait();
  }
  ~HeldThread() {
    sem_post(&released_);
    wait();
    sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  static void wait() {
    while (sem_wait(&stopped_) != 0) {
    }
  }
  static inline sem_t stopped_, released_;
  struct sigaction before_{};
};

TEST(ThreadPool, nobody_waits_for_a_worker_that_has_no_core) {
  ThreadPool pool(4, false);
  std::vector<pthread_t> threads(4);
  pool.on_each_worker([&](int worker) { threads[at(worker)] = pthread_self(); });
  for (const int held : {1, 3}) {
    {
      const HeldThread preempted(threads[at(held)]);
      for (int region = 0; region < 500; ++region) {
        std::atomic<int> sum{0};
        pool.parallel_for(3 + region % 40, [&](int, int worker) {
          EXPECT_NE(worker, held);
          sum.fetch_add(1);
        });
        ASSERT_EQ(sum.load(), 3 + region % 40);
      }
    }
    // It takes part again.
    std::latch together(4);
    pool.parallel_for(4, [&](int, int) { together.arrive_and_wait(); });
  }
}

TEST(ThreadPool, throws_what_an_item_threw_when_all_workers_are_done) {
  ThreadPool pool(4, false);
  for (int region = 0; region < 200; ++region) {
    std::atomic<int> inside{0};
    const auto body = [&](int item, int) {
      inside.fetch_add(1);
      const bool fails = item % 7 == region % 7;
      inside.fetch_sub(1);
      if (fails) throw std::bad_alloc();
    };
    EXPECT_THROW(pool.parallel_for(50, body), std::bad_alloc);
    EXPECT_EQ(inside.load(), 0);
    EXPECT_THROW(pool.on_each_worker([&](int worker) {
      if (worker == region % 4) throw std::bad_alloc();
    }),
                 std::bad_alloc);
    std::atomic<int> sum{0};
    pool.parallel_for(10, [&](int item, int) { sum.fetch_add(item); });
    EXPECT_EQ(sum.load(), 45);
  }
}

TEST(ThreadPool, on_each_worker_runs_once_on_every_worker_concurrently) {
  ThreadPool pool(4, false);
  for (int region = 0; region < 200; ++region) {
    std::latch together(4);
    std::vector<std::atomic<int>> runs(4);
    std::vector<std::thread::id> ids(4);
    pool.on_each_worker([&](int worker) {
      runs[at(worker)].fetch_add(1);
      ids[at(worker)] = std::this_thread::get_id();
      together.arrive_and_wait();
    });
    for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 4U);
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    pool.parallel_for(5, [](int, int) {});
  }
}

// Both kinds of region on either side of the wrap, and at it.
TEST(ThreadPool, goes_on_when_the_count_of_regions_wraps) {
  constexpr std::uint32_t kRegions = std::uint32_t{1} << 31;
  for (int kind_at_the_wrap = 0; kind_at_the_wrap < 3; ++kind_at_the_wrap) {
    ThreadPool pool(3, false, kRegions - 20);
    for (int region = 0; region < 40; ++region) {
      std::atomic<int> sum{0};
      if (region % 3 == kind_at_the_wrap) {
        pool.on_each_worker([&](int) { sum.fetch_add(1); });
        ASSERT_EQ(sum.load(), 3);
      } else {
        pool.parallel_for(50, [&](int item, int) { sum.fetch_add(item); });
        ASSERT_EQ(sum.load(), 1225);
      }
    }
  }
}

TEST(ThreadPool, flushes_denormals_on_every_worker_and_restores_the_caller) {
  ThreadPool pool(3, false);
  ASSERT_FALSE(denormals_are_flushed());
  std::latch together(3);
  pool.parallel_for(3, [&](int, int) {
    EXPECT_TRUE(denormals_are_flushed());
    together.arrive_and_wait();
  });
  pool.on_each_worker([](int) { EXPECT_TRUE(denormals_are_flushed()); });
  EXPECT_FALSE(denormals_are_flushed());
}

TEST(ThreadPool, may_be_called_by_one_thread_after_another) {
  ThreadPool pool(3, true);
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      pool.pin_caller();
      std::atomic<int> sum{0};
      pool.parallel_for(100, [&](int item, int) { sum.fetch_add(item); });
      EXPECT_EQ(sum.load(), 4950);
    }).join();
  }
}

TEST(ThreadPool, more_workers_than_cores_finish) {
  ThreadPool pool(4 * ThreadPool::usable_cores());
  for (int region = 0; region < 200; ++region) {
    std::atomic<int> sum{0};
    pool.parallel_for(100, [&](int item, int) { sum.fetch_add(item); });
    ASSERT_EQ(sum.load(), 4950);
  }
}

// The cores that each worker may run on.
std::vector<cpu_set_t> cores_of_workers(ThreadPool& pool) {
  std::vector<cpu_set_t> found(at(pool.size()));
  pool.on_each_worker([&](int worker) {
    cpu_set_t& cores = found[at(worker)];
    pthread_getaffinity_np(pthread_self(), sizeof cores, &cores);
  });
  return found;
}

TEST(ThreadPool, workers_keep_to_cores_where_asked_and_where_each_can_have_one) {
  cpu_set_t all;
  pthread_getaffinity_np(pthread_self(), sizeof all, &all);
  const int cores = ThreadPool::usable_cores();
  ThreadPool unasked(cores, false), more(cores + 1, true);
  for (ThreadPool* pool : {&unasked, &more})
    for (const cpu_set_t& own : cores_of_workers(*pool)) EXPECT_TRUE(CPU_EQUAL(&own, &all));
}

TEST(ThreadPool, usable_cores_is_positive_and_the_default_size) {
  EXPECT_GE(ThreadPool::usable_cores(), 1);
  EXPECT_EQ(ThreadPool().size(), ThreadPool::usable_cores());
}

}  // namespace
}  // namespace foretoken
