// A loader of a mixture of experts asks the backend whether it holds them.

#include <memory>
#include <span>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "base/error.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

// Counts what it is asked, and refuses.
class Choosy : public Delegate {
 public:
  using Delegate::Delegate;
  void expect_routing(const Routing& routing) const override {
    experts = routing.experts;
    if (experts > most_experts) throw Error("too many experts");
  }
  void expect_experts(std::span<const ExpertLinears> all) const override {
    ++layers;
    EXPECT_EQ(static_cast<int>(all.size()), experts);
    for (const ExpertLinears& expert : all)
      EXPECT_TRUE(expert.gate_up != nullptr && expert.down != nullptr);
    if (layers > most_layers) throw Error("several formats");
  }
  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    ++packed;
    return Delegate::pack(parts);
  }

  int most_experts = 1 << 20, most_layers = 1 << 20;
  mutable int experts = 0, layers = 0;
  int packed = 0;
};

class LoadExperts : public testing::TestWithParam<const char*> {
 protected:
  std::string fault() {
    return error_of([&] {
      load_model(ops_, std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + GetParam(),
                 {.dtype = "float32", .show_progress = false});
    });
  }
  ThreadPool pool_{1, false};
  Choosy ops_{make_backend({.device = "reference"}, pool_)};
};

TEST_P(LoadExperts, each_layer_is_asked_for) {
  EXPECT_EQ(fault(), "");
  EXPECT_GT(ops_.experts, 1);
  EXPECT_GT(ops_.layers, 0);
}

TEST_P(LoadExperts, what_the_backend_does_not_hold_ends_the_load) {
  ops_.most_layers = 0;
  EXPECT_THAT(fault(), HasSubstr("several formats"));
  const int behind_experts = std::exchange(ops_.packed, 0);
  ops_.most_experts = 1;
  EXPECT_THAT(fault(), HasSubstr("too many experts"));
  EXPECT_GE(behind_experts, ops_.packed + 2 * ops_.experts) << "before a layer's experts are read";
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, LoadExperts,
                         testing::Values("mixtral", "qwen2_moe", "gpt_oss", "deepseek_v3_experts",
                                         "gemma4_experts", "granite_hybrid_experts"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace foretoken
