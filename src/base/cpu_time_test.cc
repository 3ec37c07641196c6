#include "base/cpu_time.h"

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr std::array<std::string_view, 1> kBusy = {"busy ("};

TEST(CpuTime, is_counted_for_the_threads_of_a_name) {
  std::atomic<bool> stop{false};
  EXPECT_EQ(cpu_seconds(kBusy).named, 0);
  std::thread thread([&] {
    name_thread("busy (a) b");
    while (!stop) std::this_thread::yield();
  });
  double before = 0, now = 0;
  do {  // until the clock has ticked for the thread twice
    before = before == 0 ? now : before;
    now = cpu_seconds(kBusy).named;
  } while (before == 0 || now <= before);
  EXPECT_GT(now, before);
  stop = true;
  thread.join();
}

TEST(CpuTime, of_all_other_threads_never_shrinks) {
  const double before = cpu_seconds(kBusy).others;
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  EXPECT_GE(cpu_seconds(kBusy).others, before);
}

}  // namespace
}  // namespace foretoken
