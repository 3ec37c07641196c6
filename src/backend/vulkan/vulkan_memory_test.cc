// Memory of a device: the scratch of a step, and the second form of a product's input. The device is
// llvmpipe (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name where there is none.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "backend/testing/gpu_test_kit.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/rounded_twin.h"

namespace foretoken::vulkan_memory_test {
namespace {

class VulkanMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why_not = why_no_test_device(); !why_not.empty()) GTEST_SKIP() << why_not;
    context_ = std::make_unique<VulkanContext>(VulkanOptions{.device = test_device()});
    arena_ = std::make_unique<GpuArena>(*context_);
  }
  Tensor floats(std::int64_t rows, std::int64_t width) {
    return arena_->alloc(DType::kF32, {rows, width});
  }
  std::unique_ptr<VulkanContext> context_;
  std::unique_ptr<GpuArena> arena_;
};

TEST_F(VulkanMemoryTest, what_is_released_is_taken_again) {
  const Tensor kept = floats(3, 100);
  const auto mark = arena_->mark();
  const Tensor one = floats(50, 1000);
  arena_->release(mark);
  const Tensor other = floats(50, 1000);
  EXPECT_EQ(other.data(), one.data());
  EXPECT_NE(other.data(), kept.data());
  const std::size_t most = arena_->most_bytes();
  for (int i = 0; i < 100; ++i) arena_->release(mark), floats(50, 1000);
  EXPECT_EQ(arena_->most_bytes(), most);
}

TEST_F(VulkanMemoryTest, a_twin_is_that_of_the_tensor_made_last) {
  RoundedTwin twin(*context_);
  const Tensor x = floats(8, 64), y = floats(8, 64);
  EXPECT_EQ(twin.of(x), 0U);
  const Address address = twin.make(x);
  EXPECT_NE(address, 0U);
  EXPECT_EQ(twin.of(x), address);
  EXPECT_EQ(twin.of(x.rows(0, 3)), address) << "the first rows";
  EXPECT_EQ(twin.of(x.rows(1, 3)), 0U) << "others";
  EXPECT_EQ(twin.of(y), 0U);
  EXPECT_EQ(twin.of(Tensor(x.data(), DType::kF32, {16, 32})), 0U) << "another width";
  EXPECT_EQ(twin.of(Tensor(x.data(), DType::kF32, {8, 32})), 0U) << "another width, fewer bytes";
  EXPECT_EQ(twin.of(Tensor(x.data(), DType::kF32, {9, 64})), 0U) << "more rows";
  twin.make(y);
  EXPECT_EQ(twin.of(x), 0U);
  EXPECT_NE(twin.of(y), 0U);
}

TEST_F(VulkanMemoryTest, a_twin_is_gone_once_its_tensor_may_have_been_written) {
  RoundedTwin twin(*context_);
  const Tensor before = floats(8, 64), x = floats(8, 64), after = floats(8, 64);
  twin.make(x);
  twin.written(before);
  twin.written(after);
  EXPECT_NE(twin.of(x), 0U);
  twin.written(x.rows(7, 1));
  EXPECT_EQ(twin.of(x), 0U);
  twin.make(x);
  twin.forget();
  EXPECT_EQ(twin.of(x), 0U);
}

}  // namespace
}  // namespace foretoken::vulkan_memory_test
