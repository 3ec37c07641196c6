// A device of Vulkan that has no memory left, and one that is lost: what becomes of requests. The
// faults are put into the table of Vulkan's functions.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_test_kit.h"
#include "backend/vulkan/api.h"
#include "backend/vulkan/vulkan_ops.h"
#include "draft/drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "invariance/laboratory.h"
#include "invariance/tiny_models.h"
#include "model/decoder/decoder.h"
#include "model/runner.h"

namespace foretoken::vulkan_loss_test {
namespace {

std::atomic<bool> is_lost{false}, has_no_memory{false};
VulkanApi real;

void put_faults(VulkanApi& api) {
  real = api;
  api.vkQueueSubmit = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                         VkFence fence) {
    return is_lost ? VK_ERROR_DEVICE_LOST : real.vkQueueSubmit(queue, count, infos, fence);
  };
  api.vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t most) {
    return is_lost ? VK_ERROR_DEVICE_LOST : real.vkWaitSemaphores(device, info, most);
  };
  api.vkAllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo* info,
                            const VkAllocationCallbacks* callbacks, VkDeviceMemory* made) {
    return has_no_memory ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                         : real.vkAllocateMemory(device, info, callbacks, made);
  };
}

// The logits of all its rows are read back, which takes more memory than the first steps do.
Request long_request(std::int64_t vocab) {
  std::vector<Token> prompt;
  for (int i = 0; i < 900; ++i) prompt.push_back(static_cast<Token>((i * 37 + 11) % vocab));
  Request request;
  request.prompt = std::move(prompt);
  request.max_new_tokens = 8;
  request.logprob_start = 0;
  return request;
}
Request short_request() {
  Request request;
  request.prompt = std::vector<Token>{5, 6, 7};
  request.max_new_tokens = 100;
  return request;
}

class VulkanLoss : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = why_no_test_device();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    is_lost = has_no_memory = false;
    ops_ = make_vulkan_backend({.device = test_device(), .edit = put_faults}, "tile",
                               make_backend({.device = "cpu", .gemm_order = "tile"}, threads_),
                               threads_);
    decoder_ = load(*ops_);
    runner_ = std::make_unique<Runner>(*ops_, *decoder_, 160);
    drafter_ = make_null_drafter();
    EngineConfig config;
    config.max_running_requests = 4;
    config.context_length = 1056;
    config.total_tokens = 160 * kPageTokens;
    engine_ = std::make_unique<Engine>(config, *ops_, *runner_, *drafter_);
    engine_->start();
  }
  static std::unique_ptr<Decoder> load(Ops& ops) {
    const TinyModel model = tiny_models().front();
    return std::make_unique<Decoder>(ops, model.config, *tiny_weights(model), model.dtype);
  }
  std::int64_t vocab() const { return runner_->vocab(); }

  ThreadPool threads_{2, false};
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(VulkanLoss, no_memory_ends_the_requests_of_a_step_and_no_others) {
  const std::vector<Request> asked{long_request(vocab())};
  Laboratory laboratory("tile", load);
  const auto expected = laboratory.run(Laboratory::base_cell(), asked);
  run_requests(*engine_, {short_request()});
  has_no_memory = true;
  const auto failed = run_requests(*engine_, asked);
  EXPECT_EQ(failed[0].finish->reason, FinishReason::kOutOfMemory);
  EXPECT_EQ(failed[0].finish->message,
            "The server ran out of memory while it worked on this request.");
  EXPECT_EQ(engine_->stats().fault, "");
  has_no_memory = false;
  EXPECT_EQ(first_difference(run_requests(*engine_, asked), expected), "");
  EXPECT_EQ(engine_->check_integrity().get(), "");
}

TEST_F(VulkanLoss, a_lost_device_ends_requests_for_good) {
  run_requests(*engine_, {short_request()});
  is_lost = true;
  const auto failed = run_requests(*engine_, {long_request(vocab())});
  EXPECT_EQ(failed[0].finish->reason, FinishReason::kShutdown);
  EXPECT_NE(failed[0].finish->message.find("the device is lost"), std::string::npos)
      << failed[0].finish->message;
  EXPECT_NE(engine_->stats().fault.find("the device is lost"), std::string::npos);
  Request late = short_request();
  late.stream = std::make_shared<TokenStream>();
  const auto refusal = engine_->submit(std::move(late));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 503);
}

}  // namespace
}  // namespace foretoken::vulkan_loss_test
