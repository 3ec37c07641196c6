// How a batch attends is worked out once for a forward, not in every layer.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "model/runner.h"

namespace foretoken {
namespace {

class CountingPlans final : public Delegate {
 public:
  using Delegate::Delegate;
  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    ++plans;
    return Delegate::plan_attention(shape, batch);
  }
  int plans = 0;
};

class AttentionPlans : public testing::Test {
 protected:
  AttentionPlans()
      : pool_(2, false),
        ops_(make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, pool_)) {}

  // Plans made by each of two forwards of a model whose layers have these windows.
  std::vector<int> plans_of(std::vector<int> windows) {
    ModelConfig config;
    config.layers = static_cast<int>(windows.size());
    config.hidden = config.intermediate = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.head_dim = 16;
    config.vocab = 64;
    config.max_position = config.context_length = 64;
    config.layer_window = std::move(windows);
    const Decoder decoder(ops_, config, *dummy_weights(1), DType::kBF16);
    Runner runner(ops_, decoder, 2);
    DraftTrees trees(1, 1);
    SeqTable table(1);
    table.pages[0] = {1, 0};
    const std::vector<Token> text{5, 6, 7, 8};
    std::vector<int> found;
    for (int step = 0; step < 2; ++step) {
      StepPlan plan;
      plan.entries.push_back({.slot = 0, .chain = text});
      Batch batch;
      ops_.layout(plan, trees, table, batch);
      const int before = ops_.plans;
      runner.forward(batch, FeatureTaps{});
      found.push_back(ops_.plans - before);
      table.length[0] += static_cast<std::int32_t>(text.size());
    }
    return found;
  }

  ThreadPool pool_;
  CountingPlans ops_;
};

TEST_F(AttentionPlans, are_made_once_for_each_shape_of_layers) {
  EXPECT_EQ(plans_of({0, 0, 0, 0}), (std::vector{1, 1}));
  EXPECT_EQ(plans_of({0, 8, 0, 8, 0}), (std::vector{2, 2}));
}

}  // namespace
}  // namespace foretoken
