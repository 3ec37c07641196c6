// A forward asks for no more scratch than forward_memory.h and its backend say.

#include "model/decoder/forward_memory.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "model/decoder/expert_mlp.h"
#include "model/runner.h"

namespace foretoken::forward_memory_test {
namespace {

// What a model takes at once, with what an operation made of others takes.
class ScratchWatch final : public Delegate {
 public:
  using Delegate::Delegate;
  Tensor temp(DType dtype, Shape shape) override {
    Tensor made = Delegate::temp(dtype, shape);
    most = std::max(most, mark().used);
    return made;
  }
  std::size_t most = 0;
};

constexpr char kSizes[] = R"({"hidden_size":64,"intermediate_size":32,"num_hidden_layers":2,
    "num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"vocab_size":100,
    "max_position_embeddings":128)";
constexpr char kExperts[] = R"(,"num_experts":8,"num_experts_per_tok":3,
    "moe_intermediate_size":16,"shared_expert_intermediate_size":32)";

ModelConfig parse(const char* architecture, const char* more) {
  return ModelConfig::parse(
      std::string(kSizes) + R"(,"architectures":[")" + architecture + "\"]" + more + "}",
      "config.json");
}

const ModelConfig& plain() {
  static const ModelConfig config = parse("LlamaForCausalLM", "");
  return config;
}

const ModelConfig& with_experts() {
  static const ModelConfig config = parse("Qwen3MoeForCausalLM", kExperts);
  return config;
}

const ModelConfig& with_shared_expert() {
  static const ModelConfig config = parse("Qwen2MoeForCausalLM", kExperts);
  return config;
}

const ModelConfig& with_experts_beside() {
  static const ModelConfig config =
      parse("Gemma4ForCausalLM", R"(,"enable_moe_block":true,"num_experts":8,"top_k_experts":3,
      "moe_intermediate_size":16,"global_head_dim":16,"hidden_size_per_layer_input":0,
      "rope_parameters":{"sliding_attention":{"rope_type":"default","rope_theta":1e4},
       "full_attention":{"rope_type":"proportional","partial_rotary_factor":0.25,"rope_theta":1e6}})");
  return config;
}

TEST(ForwardMemory, is_at_least_what_a_forward_takes) {
  constexpr int kRows = 40;
  for (const ModelConfig* config :
       {&plain(), &with_experts(), &with_shared_expert(), &with_experts_beside()}) {
    ThreadPool pool(2, false);
    ScratchWatch ops(
        make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, pool));
    const Decoder decoder(ops, *config, *dummy_weights(1), DType::kBF16);
    Runner runner(ops, decoder, 4);
    DraftTrees trees(1, 1);
    SeqTable table(1);
    table.pages[0] = {1, 0, 2};
    const std::vector<Token> text(kRows, 7);
    StepPlan plan;
    plan.entries.push_back({.slot = 0, .chain = text});
    Batch batch;
    ops.layout(plan, trees, table, batch);
    runner.forward(batch, FeatureTaps{});
    EXPECT_GT(ops.most, 0U);
    EXPECT_LE(ops.most,
              decoder_bytes(*config, kRows, 0) + ops.workspace_bytes(decoder_size(*config, kRows)))
        << config->architecture;
  }
}

TEST(ForwardMemory, counts_each_part_of_a_mixture) {
  constexpr std::int64_t kRows = 40, kFloat = sizeof(float);
  const auto alignment = static_cast<std::int64_t>(rows_bytes(0, 0));
  const auto bytes = [](const ModelConfig& config) {
    return static_cast<std::int64_t>(ExpertMlp::temp_bytes(config, kRows));
  };
  EXPECT_EQ(bytes(plain()), 0);
  // Scores twice, what was chosen and its weights, and the alignment of nine tensors.
  const std::int64_t alone = bytes(with_experts());
  EXPECT_EQ(alone - kRows * (2 * 8 + 2 * 3) * kFloat, 9 * alignment);
  ModelConfig weighed = with_experts();
  weighed.experts.weighs_inputs = true;  // an expert of each row and its logit once more
  EXPECT_EQ(bytes(weighed) - alone, kRows * 2 * kFloat + 2 * alignment);
  EXPECT_EQ(bytes(with_shared_expert()) - alone, kRows * (64 + 1) * kFloat);
  EXPECT_EQ(bytes(with_experts_beside()) - alone, kRows * 3 * 64 * kFloat);
}

}  // namespace
}  // namespace foretoken::forward_memory_test
