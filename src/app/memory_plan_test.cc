#include "app/memory_plan.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kPageBytes = std::size_t{1} << 20;
constexpr MachineMemory kMachine{16 * kGiB, 12 * kGiB};
constexpr MemoryNeeds kNeeds{
    .weight_bytes = 2 * kGiB, .page_bytes = kPageBytes, .useful_tokens = 1 << 30};

int pages(const MemoryOptions& options, const MemoryNeeds& needs = kNeeds) {
  return plan_kv_tokens(options, kMachine, needs) / kPageTokens;
}

TEST(MemoryPlan, the_fraction_covers_weights_and_cache) {
  EXPECT_EQ(pages({.fraction = 0.5, .max_total_tokens = {}}), 6 * 1024);
}

TEST(MemoryPlan, never_more_than_what_is_available) {
  EXPECT_EQ(pages({.fraction = 0.99, .max_total_tokens = {}}),
            static_cast<int>(0.9 * 12 * 1024) - 2 * 1024);
}

TEST(MemoryPlan, by_default_no_more_than_requests_can_use) {
  MemoryNeeds needs = kNeeds;
  needs.useful_tokens = 1000;
  EXPECT_EQ(plan_kv_tokens({}, kMachine, needs), 992);
  EXPECT_GT(pages({}), 1024);
}

TEST(MemoryPlan, max_total_tokens_is_a_cap_in_whole_pages) {
  EXPECT_EQ(plan_kv_tokens({.fraction = {}, .max_total_tokens = 100}, kMachine, kNeeds), 96);
  EXPECT_EQ(pages({.fraction = 0.5, .max_total_tokens = 1 << 30}), 6 * 1024);
}

TEST(MemoryPlan, without_room_for_a_page_the_program_cannot_start) {
  EXPECT_THROW(pages({.fraction = 0.1, .max_total_tokens = {}}), Error);
  EXPECT_THROW(pages({.fraction = {}, .max_total_tokens = 15}), Error);
}

}  // namespace
}  // namespace foretoken
