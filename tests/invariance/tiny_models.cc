#include "invariance/tiny_models.h"

#include <map>
#include <optional>

#include "tensor/buffer.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

constexpr int kGroup = 4;  // rows of the head that are nearly equal

// Dummy weights, scaled; rows of the head become copies of their group's first row, each with a few
// elements moved by one unit in the last place.
class TinySource final : public WeightSource {
 public:
  explicit TinySource(const TinyModel& model)
      : model_(model), random_(dummy_weights(1 + model.name.size())) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    const Tensor made = *random_->find(name, expected);
    if (expected.rank() < 2) return made;
    std::uint16_t* bits = made.bits16();
    for (std::int64_t i = 0; i < made.elements(); ++i)
      bits[i] = f32_to_bf16(bf16_to_f32(bits[i]) * model_.scale);
    const bool is_head =
        name == (model_.config.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    if (is_head && model_.near_ties) tie_rows(made);
    return made;
  }

  std::vector<std::string> names() const override { return {}; }
  std::string where() const override { return "tiny model " + model_.name; }
  void release(const std::string& name) const override { random_->release(name); }

 private:
  static void tie_rows(const Tensor& head) {
    const std::int64_t width = head.dim(1);
    std::uint16_t* bits = head.bits16();
    for (std::int64_t row = 0; row < head.dim(0); ++row) {
      const std::uint16_t* first = bits + row / kGroup * kGroup * width;
      std::uint16_t* own = bits + row * width;
      for (std::int64_t i = 0; i < width; ++i)
        own[i] = static_cast<std::uint16_t>(first[i] ^ (row % kGroup != 0 && i % 31 == row % 31));
    }
  }

  TinyModel model_;
  std::unique_ptr<WeightSource> random_;
};

ModelConfig base_config() {
  ModelConfig config;
  config.architecture = "LlamaForCausalLM";
  config.model_type = "llama";
  config.layers = 2;
  config.hidden = 64;
  config.intermediate = 160;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.vocab = 512;
  config.max_position = config.context_length = 1056;
  return config;
}

}  // namespace

std::vector<TinyModel> tiny_models() {
  std::vector<TinyModel> models;
  models.push_back({.name = "llama_gqa_near_ties", .config = base_config(), .near_ties = true});

  ModelConfig norms = base_config();  // odd widths, head_dim unlike hidden / heads, tied head
  norms.layers = 3;
  norms.hidden = 96;
  norms.intermediate = 144;
  norms.heads = 6;
  norms.kv_heads = 1;
  norms.head_dim = 32;
  norms.vocab = 509;
  norms.qk_norm = norms.tied_embeddings = true;
  models.push_back({.name = "qk_norm_mqa_tied_flat", .config = norms, .scale = 0.25F});

  ModelConfig window = base_config();
  window.hidden = 128;
  window.heads = window.kv_heads = 2;
  window.head_dim = 64;
  window.intermediate = 256;
  window.qkv_bias = true;
  window.layer_window = {0, 40};
  window.rope.kind = RopeScaling::Kind::kLlama3;
  window.rope.factor = 8.0;
  window.rope.low_freq_factor = 1.0;
  window.rope.high_freq_factor = 4.0;
  window.rope.original_max_position = 64;
  models.push_back({.name = "qkv_bias_window_steep", .config = window, .scale = 2.0F});

  models.push_back(
      {.name = "fp32_near_ties", .config = base_config(), .dtype = DType::kF32, .near_ties = true});
  models.push_back({.name = "fp16", .config = base_config(), .dtype = DType::kF16});
  return models;
}

std::vector<TinyModel> block_models() {
  std::vector<TinyModel> models;
  ModelConfig sandwich = base_config();
  static_cast<Blocks&>(sandwich) = {.qk_norm = true,
                                    .score_scale = 0.3,
                                    .score_cap = 5,
                                    .local_rope_theta = 500,
                                    .layer_window = {40, 0},
                                    .layer_rope = {LayerRope::kLocal, LayerRope::kMain},
                                    .activation = Activation::kGeluTanh,
                                    .norms = {.before_attention = "before_attention",
                                              .after_attention = "after_attention",
                                              .before_mlp = "before_mlp",
                                              .after_mlp = "after_mlp"},
                                    .norm_offset = 1,
                                    .embedding_scale = 8.1,
                                    .rounds_embedding_scale = true,
                                    .logit_cap = 3};
  models.push_back({.name = "sandwich_caps_two_ropes", .config = sandwich, .near_ties = true});

  ModelConfig parallel = base_config();
  static_cast<Blocks&>(parallel) = {.qkv_bias = true,
                                    .o_bias = true,
                                    .is_qkv_fused = true,
                                    .has_sinks = true,
                                    .rotary_dim = 8,
                                    .layer_rope = {LayerRope::kMain, LayerRope::kNone},
                                    .activation = Activation::kGelu,
                                    .mlp_bias = true,
                                    .is_gate_up_fused = true,
                                    .norms = {.before_mlp = {}},
                                    .is_parallel = true,
                                    .residual_scale = 0.4F,
                                    .logit_scale = 0.25F};
  models.push_back({.name = "parallel_sinks_half_rope", .config = parallel, .near_ties = true});
  return models;
}

std::unique_ptr<WeightSource> tiny_weights(const TinyModel& model) {
  return std::make_unique<TinySource>(model);
}

}  // namespace foretoken
