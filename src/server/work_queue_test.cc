#include "server/work_queue.h"

#include <atomic>
#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using Size = WorkQueue::Size;

TEST(WorkQueue, long_work_never_holds_up_short_work) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  WorkQueue queue(2);
  std::atomic<int> long_begun{0};
  for (int i = 0; i < 3; ++i)
    queue.post(Size::kLong, [&] {
      ++long_begun;
      released.wait();
    });
  for (int i = 0; i < 50; ++i) {
    std::promise<void> done;
    queue.post(Size::kShort, [&] { done.set_value(); });
    done.get_future().wait();  // would never come if long work had all threads
  }
  EXPECT_LE(long_begun, 1);
  release.set_value();
  queue.close();
  EXPECT_EQ(long_begun, 3);
}

TEST(WorkQueue, long_work_gets_its_turn_among_short_work) {
  WorkQueue queue(2);
  std::promise<void> turn;
  const std::shared_future<void> had_turn = turn.get_future().share();
  queue.post(Size::kShort, [] {});
  queue.post(Size::kLong, [&] { turn.set_value(); });
  std::atomic<int> done{0};
  for (int i = 0; i < 200; ++i)
    queue.post(Size::kShort, [&, i] {
      if (i >= 100) had_turn.wait();  // for ever, if all short work went first
      ++done;
    });
  queue.close();
  EXPECT_EQ(done, 200);
}

TEST(WorkQueue, closing_finishes_what_was_posted) {
  std::atomic<int> done{0};
  WorkQueue queue(3);
  for (int i = 0; i < 200; ++i)
    queue.post(i % 3 == 0 ? Size::kLong : Size::kShort, [&] { ++done; });
  queue.close();
  EXPECT_EQ(done, 200);
}

}  // namespace
}  // namespace foretoken
