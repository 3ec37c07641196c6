#pragma once
// GpuFixture: the device of Vulkan that tests run on beside the CPU in its tile order, whose bits it
// is to have. One device for all cases of a suite, because it compiles its shaders; all are skipped,
// with the reason, where there is none. For tests only.

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "backend/testing/gpu_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "base/threads.h"

namespace foretoken {

class GpuFixture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pool_ = std::make_unique<ThreadPool>(2, false);
    cpu_ = make_backend({.device = "cpu", .gemm_order = "tile"}, *pool_);
    why_not_ = why_no_test_device();
    if (why_not_.empty())
      gpu_ = make_backend({.device = test_device(), .gemm_order = "tile"}, *pool_);
  }
  static void TearDownTestSuite() {
    gpu_.reset();
    cpu_.reset();
    pool_.reset();
  }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    ASSERT_NE(gpu_, nullptr);
  }

  // What an operation gives on the device has the bytes of what it gives on the CPU.
  void expect_same(const std::function<Rows(Ops&)>& body, const std::string& what) {
    const Rows expected = body(*cpu_);
    expect_same_bytes(body(*gpu_), expected, what);
  }

  inline static std::unique_ptr<ThreadPool> pool_;
  inline static std::unique_ptr<Ops> cpu_, gpu_;
  inline static std::string why_not_;
};

}  // namespace foretoken
