#include "engine/idle_memory.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using Due = IdleMemory::Due;

IdleMemory::Time at_second(int seconds) {
  return IdleMemory::Time{} + std::chrono::seconds(seconds);
}

TEST(IdleMemory, free_pages_first_and_cached_texts_later_each_once) {
  IdleMemory idle({.free_pages_seconds = 10, .cached_texts_seconds = 100});
  EXPECT_EQ(idle.next(at_second(1)), at_second(11));
  EXPECT_EQ(idle.take(at_second(10)), Due::kNothing);
  EXPECT_EQ(idle.take(at_second(11)), Due::kFreePages);
  EXPECT_EQ(idle.next(at_second(12)), at_second(101));
  EXPECT_EQ(idle.take(at_second(100)), Due::kNothing);
  EXPECT_EQ(idle.take(at_second(101)), Due::kCachedTexts);
  EXPECT_EQ(idle.next(at_second(102)), IdleMemory::Time::max());
  EXPECT_EQ(idle.take(at_second(1000)), Due::kNothing);
}

TEST(IdleMemory, work_begins_the_time_anew) {
  IdleMemory idle({.free_pages_seconds = 10, .cached_texts_seconds = 100});
  EXPECT_EQ(idle.next(at_second(0)), at_second(10));
  idle.work();
  EXPECT_EQ(idle.next(at_second(9)), at_second(19));
  EXPECT_EQ(idle.take(at_second(200)), Due::kCachedTexts);  // asleep for long
  idle.work();
  EXPECT_EQ(idle.next(at_second(300)), at_second(310));
}

TEST(IdleMemory, pages_that_were_freed_at_once_are_due_at_once) {
  IdleMemory idle({.free_pages_seconds = 10, .cached_texts_seconds = 100});
  idle.pages_freed();
  EXPECT_EQ(idle.next(at_second(1)), at_second(1));
  EXPECT_EQ(idle.take(at_second(1)), Due::kFreePages);
  EXPECT_EQ(idle.take(at_second(1)), Due::kNothing);
  EXPECT_EQ(idle.next(at_second(1)), at_second(11));
}

}  // namespace
}  // namespace foretoken
