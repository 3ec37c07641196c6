#include "app/host/memory_plan.h"

#include <string>

#include <gtest/gtest.h>

#include "backend/backend.h"

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
  EXPECT_EQ(plan_kv_tokens({}, kMachine, needs), 1000);
  EXPECT_GT(pages({}), 1024);
}

TEST(MemoryPlan, by_default_half_of_the_memory_or_what_one_request_takes) {
  EXPECT_EQ(pages({}), 6 * 1024);
  MemoryNeeds needs = kNeeds;
  needs.context_tokens = 8 * 1024 * kPageTokens;
  EXPECT_EQ(pages({}, needs), 8 * 1024);
  needs.context_tokens = 1 << 30;
  EXPECT_EQ(pages({}, needs), static_cast<int>(0.9 * 12 * 1024) - 2 * 1024);
}

TEST(MemoryPlan, with_keys_and_values_of_8_bits_nearly_twice_the_tokens_fit) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  const auto tokens = [&](DType dtype) {
    MemoryNeeds needs = kNeeds;
    needs.page_bytes =
        ops->kv_page_bytes({.layers = 16, .kv_heads = 8, .head_dim = 64, .dtype = dtype});
    return plan_kv_tokens({.fraction = 0.5, .max_total_tokens = {}}, kMachine, needs);
  };
  for (const DType dtype : {DType::kI8, DType::kF8E4M3, DType::kF8E5M2}) {
    EXPECT_GT(tokens(dtype), 1.85 * tokens(DType::kBF16));
    EXPECT_LT(tokens(dtype), 1.95 * tokens(DType::kBF16));
  }
}

TEST(MemoryPlan, max_total_tokens_is_a_cap_to_the_token) {
  EXPECT_EQ(plan_kv_tokens({.fraction = {}, .max_total_tokens = 100}, kMachine, kNeeds), 100);
  EXPECT_EQ(pages({.fraction = 0.5, .max_total_tokens = 1 << 30}), 6 * 1024);
}

// A model whose layers all keep states has no keys and values.
TEST(MemoryPlan, pages_that_take_nothing_are_as_many_as_requests_can_use) {
  MemoryNeeds needs = kNeeds;
  needs.page_bytes = 0;
  needs.useful_tokens = 1000;
  EXPECT_EQ(plan_kv_tokens({}, kMachine, needs), 1000);
  EXPECT_EQ(plan_kv_tokens({.fraction = 0.5, .max_total_tokens = {}}, kMachine, needs), 1000);
  EXPECT_EQ(plan_kv_tokens({.fraction = {}, .max_total_tokens = 600}, kMachine, needs), 600);
  needs.weight_bytes = 20 * kGiB;
  EXPECT_THROW(plan_kv_tokens({}, kMachine, needs), Error);
}

TEST(MemoryPlan, tokens_that_do_not_fit_are_warned_of) {
  const auto said = [](int wanted) {
    testing::internal::CaptureStderr();
    pages({.fraction = 0.5, .max_total_tokens = wanted});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(6 * 1024 * kPageTokens).find("does not fit"), std::string::npos);
  EXPECT_NE(said(6 * 1024 * kPageTokens + 1).find("does not fit"), std::string::npos);
}

TEST(MemoryPlan, the_largest_step_is_planned_for) {
  MemoryNeeds needs = kNeeds;
  needs.step_bytes = 3 * kGiB;
  EXPECT_EQ(pages({.fraction = 0.5, .max_total_tokens = {}}, needs), 3 * 1024);
  needs.step_bytes = 6 * kGiB;
  std::string found;
  try {
    pages({.fraction = 0.5, .max_total_tokens = {}}, needs);
  } catch (const Error& error) {
    found = error.what();
  }
  EXPECT_NE(found.find("the largest step has no room"), std::string::npos) << found;
  EXPECT_NE(found.find("2.00 for weights, 6.00 for the largest step"), std::string::npos) << found;
}

TEST(MemoryPlan, texts_of_drafts_are_no_weights) {
  MemoryNeeds needs = kNeeds;
  needs.text_bytes = kGiB;
  EXPECT_EQ(pages({.fraction = 0.5, .max_total_tokens = {}}, needs), 5 * 1024);
  try {
    pages({.fraction = 0.15, .max_total_tokens = {}}, needs);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no memory is left for the KV cache"),
              std::string::npos);
    EXPECT_NE(std::string(error.what())
                  .find("2.00 for weights, 1.00 for texts that drafts come from, 0.00 for"),
              std::string::npos)
        << error.what();
  }
}

TEST(MemoryPlan, without_room_for_a_page_the_program_cannot_start) {
  EXPECT_THROW(pages({.fraction = 0.1, .max_total_tokens = {}}), Error);
  EXPECT_THROW(pages({.fraction = {}, .max_total_tokens = 15}), Error);
}

}  // namespace
}  // namespace foretoken
