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
    if (name.ends_with("A_log")) slow_down(made);
    if (name.ends_with("layer_scalar")) made.bits16()[0] = f32_to_bf16(0.8F);
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
  // States that remember some dozens of tokens.
  static void slow_down(const Tensor& rates) {
    for (std::int64_t i = 0; i < rates.elements(); ++i)
      rates.bits16()[i] = f32_to_bf16(-4.0F - 0.5F * static_cast<float>(i));
  }

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

namespace {

// Layers with a window and without, which have heads of two sizes and rotate by tables of their own:
// of the wider ones a few pairs. The tensors of values are those of keys in some of them.
ModelConfig mixed_config() {
  ModelConfig config = base_config();
  config.layers = 4;
  static_cast<Blocks&>(config) = {
      .qk_norm = true,
      .v_norm = true,
      .score_scale = 1,
      .local_rope_theta = 500,
      .layer_window = {40, 0, 40, 0},
      .layer_rope = {LayerRope::kLocal, LayerRope::kMain, LayerRope::kLocal, LayerRope::kMain},
      .layer_heads = {{2, 16}, {1, 48}, {2, 16}, {1, 48}},
      .values_are_keys = {false, true, false, true},
      .norms = {.after_attention = "after_attention",
                .before_mlp = "before_mlp",
                .after_mlp = "after_mlp"}};
  config.has_layer_scale = true;
  config.rope.kind = RopeScaling::Kind::kProportional;
  config.rope.factor = 1.0;
  config.rope.share = 0.3;
  return config;
}

std::vector<TinyModel> mixed_models() {
  // The last layers make queries only, and all read of the token itself.
  ModelConfig shared = mixed_config();
  shared.layer_kv = {0, 1, 0, 1};
  shared.layer_intermediate = {160, 160, 224, 224};
  shared.inputs.width = 24;
  ModelConfig beside = mixed_config();
  beside.experts = {.routing = {.experts = 6, .chosen = 2, .normalises = true},
                    .intermediate = 48,
                    .has_expert_scales = true,
                    .beside = {.mlp = "after_dense_norm",
                               .before = "before_experts_norm",
                               .after = "after_experts_norm"}};
  return {{.name = "heads_of_two_sizes", .config = mixed_config(), .near_ties = true},
          {.name = "shared_kv_and_inputs", .config = shared, .near_ties = true},
          {.name = "experts_beside", .config = beside, .near_ties = true}};
}

ModelConfig latent_config(const LatentBlocks& latent) {
  ModelConfig config = base_config();
  config.latent = latent;
  config.kv_heads = 1;
  config.head_dim = latent.kv_rank + latent.rope_dim;
  config.rotary_dim = latent.rope_dim;
  return config;
}

// What is kept of a token is one latent: of whole tiles, and of odd widths.
std::vector<TinyModel> latent_models() {
  const ModelConfig whole = latent_config(
      {.kv_rank = 64, .key_dim = 24, .rope_dim = 32, .value_dim = 16, .pairs_neighbours = true});
  ModelConfig odd =
      latent_config({.kv_rank = 36, .q_rank = 28, .key_dim = 10, .rope_dim = 6, .value_dim = 22});
  odd.heads = 5;
  odd.qkv_bias = odd.o_bias = true;
  odd.rope.kind = RopeScaling::Kind::kYarn;
  odd.rope.factor = 4.0;
  odd.rope.original_max_position = 264;
  odd.rope.mscale = odd.rope.mscale_all_dim = 0.7;
  return {{.name = "latent_near_ties", .config = whole, .near_ties = true},
          {.name = "latent_odd_widths", .config = odd, .near_ties = true}};
}

RecurrentBlocks delta_blocks(const RecurrentShape& shape) {
  const auto whole = [](std::string_view name, int rows) {
    return StoredRows{.name = name, .rows = rows, .stored = rows};
  };
  return {.shape = shape,
          .names = {.block = "linear_attn."},
          .inputs = {whole("in_proj_qkv", shape.channels)},
          .gate = {whole("in_proj_z", shape.value_heads * shape.value_dim)},
          .dt = whole("in_proj_a", shape.value_heads),
          .beta = whole("in_proj_b", shape.value_heads),
          .has_silu = true,
          .gate_curve = GateCurve::kSilu,
          .norms_heads = true};
}

// A state without corrections, of one key for each group of heads.
ModelConfig mamba_config(int groups) {
  ModelConfig config = base_config();
  config.layers = 3;
  const int width = 80, states = 12, heads = 5 * groups, keys = groups * states;
  const int channels = width + 2 * keys;
  const int stored = width + channels + heads;
  const auto rows = [&](int first, int count) {
    return StoredRows{.name = "in_proj", .first = first, .rows = count, .stored = stored};
  };
  config.recurrent = {.layers = {true, false, true},
                      .shape = {.channels = channels,
                                .taps = 4,
                                .key_heads = groups,
                                .value_heads = heads,
                                .key_dim = states,
                                .value_dim = width / heads,
                                .first = {.query = width + keys, .key = width, .value = 0}},
                      .names = {.block = "mamba."},
                      .inputs = {rows(width, channels)},
                      .gate = {rows(0, width)},
                      .dt = rows(width + channels, heads),
                      .has_silu = true,
                      .has_taps_bias = true,
                      .has_skip = true,
                      .gate_curve = GateCurve::kSilu,
                      .norm_groups = groups};
  return config;
}

// No state but that of a convolution, behind one gate and before another.
ModelConfig convolution_config() {
  ModelConfig config = base_config();
  const int width = config.hidden;
  const auto third = [&](int number) {
    return StoredRows{
        .name = "in_proj", .first = number * width, .rows = width, .stored = 3 * width};
  };
  config.recurrent = {.layers = {true, false},
                      .shape = {.channels = width, .taps = 3},
                      .names = {.block = "conv.", .taps = "conv"},
                      .inputs = {third(2)},
                      .input_gate = third(0),
                      .gate = {third(1)}};
  return config;
}

// Some layers keep a state, the last one among them or not: of the delta rule in whole vectors and
// odd widths, and of other kinds.
std::vector<TinyModel> state_models() {
  ModelConfig whole = base_config();
  whole.layers = 3;
  whole.has_output_gate = whole.qk_norm = true;
  whole.rotary_dim = 8;
  whole.recurrent = delta_blocks({.channels = 96,
                                  .taps = 4,
                                  .key_heads = 1,
                                  .value_heads = 2,
                                  .key_dim = 16,
                                  .value_dim = 32,
                                  .first = {.query = 0, .key = 16, .value = 32},
                                  .corrects = true,
                                  .normalises_qk = true});
  whole.recurrent.layers = {true, true, false};
  ModelConfig odd = base_config();
  odd.recurrent = delta_blocks({.channels = 92,
                                .taps = 3,
                                .key_heads = 2,
                                .value_heads = 4,
                                .key_dim = 5,
                                .value_dim = 18,
                                .first = {.query = 0, .key = 10, .value = 20},
                                .corrects = true,
                                .normalises_qk = true});
  odd.recurrent.layers = {false, true};
  return {{.name = "states_near_ties", .config = whole, .near_ties = true},
          {.name = "states_odd_widths", .config = odd, .near_ties = true},
          {.name = "states_of_dt", .config = mamba_config(1), .near_ties = true},
          {.name = "states_of_groups", .config = mamba_config(2), .near_ties = true},
          {.name = "convolutions", .config = convolution_config(), .near_ties = true}};
}

}  // namespace

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

  ModelConfig behind = base_config();
  static_cast<Blocks&>(behind) = {.whole_qk_norm = true,
                                  .local_rope_theta = 500,
                                  .score_growth = 0.4,
                                  .score_growth_length = 48,
                                  .layer_window = {40, 0},
                                  .layer_rope = {LayerRope::kLocal, LayerRope::kMain},
                                  .norms = {.before_attention = {},
                                            .after_attention = "after_attention",
                                            .before_mlp = {},
                                            .after_mlp = "after_mlp"}};
  models.push_back({.name = "norms_behind_growing_scores", .config = behind, .near_ties = true});

  ModelConfig experts = base_config();
  experts.experts = {.routing = {.experts = 6, .chosen = 2, .normalises = true},
                     .intermediate = 48};
  models.push_back({.name = "experts", .config = experts, .near_ties = true});

  ModelConfig biased = base_config();
  biased.qkv_bias = biased.o_bias = biased.has_sinks = true;
  biased.layer_window = {40, 0};
  biased.activation = Activation::kClampedSwiglu;
  biased.experts = {.routing = {.experts = 4, .chosen = 2, .normalises = true},
                    .intermediate = 40,
                    .has_router_bias = true,
                    .has_bias = true};
  models.push_back({.name = "experts_with_biases", .config = biased, .near_ties = true});

  ModelConfig chunks = base_config();
  chunks.layers = 3;
  chunks.norms_rotated = true;
  chunks.layer_chunk = {48, 0, 50};
  chunks.layer_rope = {LayerRope::kMain, LayerRope::kNone, LayerRope::kMain};
  chunks.score_growth = 0.4;
  chunks.score_growth_length = 48;
  chunks.score_growth_offset = 1;
  chunks.grows_unrotated = true;
  chunks.experts = {.routing = {.experts = 6, .chosen = 1, .normalises = true},
                    .intermediate = 48,
                    .shared_intermediate = 48,
                    .weighs_inputs = true,
                    .layers = {false, true, true}};
  models.push_back({.name = "chunks_and_weighed_inputs", .config = chunks, .near_ties = true});

  ModelConfig centred = base_config();
  centred.centres_stream = centred.is_parallel = true;
  centred.norms.before_mlp = {};
  models.push_back({.name = "layer_norms", .config = centred, .near_ties = true});

  ModelConfig turned = base_config();
  turned.qk_norm_behind = true;
  models.push_back({.name = "norms_behind_the_rotation", .config = turned, .near_ties = true});

  ModelConfig grouped = base_config();
  grouped.layers = 3;
  grouped.qk_norm = true;
  grouped.experts = {.routing = {.experts = 12,
                                 .chosen = 3,
                                 .score = RouterScore::kSigmoid,
                                 .scale = 1.5F,
                                 .groups = 4,
                                 .kept_groups = 2,
                                 .group_tops = 2},
                     .intermediate = 32,
                     .shared_intermediate = 64,
                     .is_shared_gated = true,
                     .has_score_bias = true,
                     .layers = {false, true, true}};
  models.push_back({.name = "experts_in_groups_and_shared", .config = grouped, .near_ties = true});
  for (TinyModel& model : mixed_models()) models.push_back(std::move(model));
  for (TinyModel& model : latent_models()) models.push_back(std::move(model));
  for (TinyModel& model : state_models()) models.push_back(std::move(model));
  return models;
}

std::unique_ptr<WeightSource> tiny_weights(const TinyModel& model) {
  return std::make_unique<TinySource>(model);
}

}  // namespace foretoken
