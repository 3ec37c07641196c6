#include "text/cut_memory.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(CutMemory, remembers_the_last_cut_behind_a_token) {
  CutMemory cuts;
  EXPECT_EQ(cuts.find(1, "name"), kNoToken);
  cuts.add(1, "name", 7);
  cuts.add(kNoToken, "name", 0);
  EXPECT_EQ(cuts.find(1, "name"), 7);
  EXPECT_EQ(cuts.find(kNoToken, "name"), 0);
  EXPECT_EQ(cuts.find(2, "name"), kNoToken);
  EXPECT_EQ(cuts.find(1, "names"), kNoToken);
  EXPECT_EQ(cuts.find(1, ""), kNoToken);
  cuts.add(1, "name", 8);
  EXPECT_EQ(cuts.find(1, "name"), 8);
}

TEST(CutMemory, text_far_ahead_does_not_matter) {
  CutMemory cuts;
  cuts.add(1, "\"parameters\": {\"city\": \"", 7);
  EXPECT_EQ(cuts.find(1, "\"parameters\": {\"name\": \""), 7);
}

TEST(CutMemory, what_is_forgotten_is_not_known_rather_than_wrong) {
  CutMemory cuts;
  constexpr Token kTexts = 200000;
  for (Token i = 0; i < kTexts; ++i) cuts.add(i, "text " + std::to_string(i), i);
  int known = 0;
  for (Token i = 0; i < kTexts; ++i) {
    const Token found = cuts.find(i, "text " + std::to_string(i));
    ASSERT_TRUE(found == i || found == kNoToken);
    known += static_cast<int>(found == i);
  }
  EXPECT_GT(known, 20000);
}

TEST(CutMemory, many_threads_may_add_and_find) {
  CutMemory cuts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&cuts] {
      for (Token i = 0; i < 20000; ++i) {
        cuts.add(i % 100, "same", i % 100);
        const Token found = cuts.find(i % 100, "same");
        ASSERT_TRUE(found == i % 100 || found == kNoToken);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace foretoken
