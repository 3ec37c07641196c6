#include "base/item_shares.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"

namespace foretoken {
namespace {

// Workers that take turns on one thread. Returns the cache lines that all of them looked at;
// checks that every item was taken once.
int take_all(int workers, int items, const std::function<bool(int worker, int round)>& is_on) {
  ItemShares shares(workers);
  shares.open(items);
  std::vector<ItemShares::Taker> takers;
  for (int worker = 0; worker < workers; ++worker) takers.emplace_back(shares, worker);
  std::vector<int> runs(at(items)), busy(at(workers), 1);
  for (int round = 0; std::ranges::count(busy, 1) > 0; ++round)
    for (int worker = 0; worker < workers; ++worker) {
      if (busy[at(worker)] == 0 || !is_on(worker, round)) continue;
      const int item = takers[at(worker)].next();
      if (item < 0)
        busy[at(worker)] = 0;
      else
        ++runs[at(item)];
    }
  EXPECT_EQ(std::ranges::count(runs, 1), items) << workers << " workers";
  int lines = 0;
  for (const auto& taker : takers) lines += taker.lines();
  return lines;
}

bool always(int, int) { return true; }

TEST(ItemShares, a_worker_takes_its_own_share_in_order_and_then_those_behind_it) {
  ItemShares shares(3);
  shares.open(8);  // 0 1 | 2 3 4 | 5 6 7
  ItemShares::Taker taker(shares, 1);
  std::vector<int> taken;
  for (int item = taker.next(); item >= 0; item = taker.next()) taken.push_back(item);
  EXPECT_EQ(taken, (std::vector<int>{2, 3, 4, 5, 6, 7, 0, 1}));
}

TEST(ItemShares, lines_grow_with_workers_and_not_with_their_square) {
  for (const int workers : {1, 2, 4, 16, 63, 64, 65, 130}) {
    // A few look at each other's shares, which are no more than that.
    const int words = workers <= 8 ? 6 : (workers + 63) / 64;
    for (const int items : {1, workers / 2 + 1, workers, 6 * workers + 5})
      EXPECT_LE(take_all(workers, items, always), workers * (3 + words)) << items;
  }
  // 64 workers of unequal speed, six items each: the fast ones finish the shares of the slow.
  const auto uneven = [](int worker, int round) { return round % (1 + worker % 4) == 0; };
  EXPECT_LE(take_all(64, 6 * 64, uneven), 64 * 8);
  // One of them comes very late, or never.
  const auto one_is_late = [](int worker, int round) { return worker != 17 || round > 100; };
  EXPECT_LE(take_all(64, 6 * 64, one_is_late), 64 * 6);
}

TEST(ItemShares, a_worker_that_is_late_takes_what_there_is_now) {
  ItemShares shares(3);
  shares.open(3);
  ItemShares::Taker late(shares, 1), other(shares, 0);
  while (other.next() >= 0) {
  }
  shares.open(100);
  int taken = 0;
  while (late.next() >= 0) ++taken;
  EXPECT_EQ(taken, 100);
  shares.open(2);  // fewer than before: nothing of the last region may come back
  ItemShares::Taker next(shares, 2);
  EXPECT_EQ(next.next(), 1);
  EXPECT_EQ(next.next(), 0);
  EXPECT_EQ(next.next(), -1);
}

TEST(ItemShares, threads_take_each_item_once) {
  constexpr int kWorkers = 4, kItems = 20000;
  ItemShares shares(kWorkers);
  shares.open(kItems);
  std::vector<std::atomic<int>> runs(kItems);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker)
    threads.emplace_back([&, worker] {
      ItemShares::Taker taker(shares, worker);
      for (int item = taker.next(); item >= 0; item = taker.next()) runs[at(item)].fetch_add(1);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace foretoken
