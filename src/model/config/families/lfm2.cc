#include "base/index.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"
#include "model/config/state_fields.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kLfm2Features[] = {"tie_embedding"};
constexpr auto kLfm2ExpertFeatures = expert_features_and("tie_embedding");

constexpr Rename kLfm2Renames[] = {{"operator_norm", "input_layernorm"},
                                   {"ffn_norm", "post_attention_layernorm"},
                                   {"self_attn.out_proj", "self_attn.o_proj"},
                                   {"q_layernorm", "q_norm"},
                                   {"k_layernorm", "k_norm"},
                                   {"feed_forward.w1", "mlp.gate_proj"},
                                   {"feed_forward.w3", "mlp.up_proj"},
                                   {"feed_forward.w2", "mlp.down_proj"},
                                   {"model.embedding_norm", "model.norm"}};

// The layers that "full_attn_idxs" does not name.
std::vector<bool> states_by_index(const FileFields& fields, int layers) {
  std::vector<bool> keeps(at(layers), fields.has("full_attn_idxs"));
  for (const std::int64_t layer : fields.integers("full_attn_idxs", {0, layers - 1}))
    keeps[at(layer)] = false;
  return keeps;
}

void resize_lfm2(const FileFields& fields, ModelConfig& sizes) {
  sizes.rms_eps = static_cast<float>(above_zero(fields, "norm_eps", 1e-5));
  int width = size_field(fields, "block_ff_dim", sizes.intermediate);
  if (fields.boolean("block_auto_adjust_ff_dim").value_or(true)) {
    const int multiple = size_field(fields, "block_multiple_of", 256);
    const double share = above_zero(fields, "block_ffn_dim_multiplier", 1.0);
    width = static_cast<int>(2 * std::int64_t{width} / 3);
    if (!fields.has_null("block_ffn_dim_multiplier"))
      width = ceil_div(static_cast<int>(share * width), multiple) * multiple;
  }
  sizes.intermediate = width;
}

Blocks read_lfm2(const FileFields& fields, const ModelConfig& sizes) {
  const int width = sizes.hidden;
  const bool bias = is_on(fields, "conv_bias");
  const auto listed = listed_states(fields, sizes.layers, {"conv"}, {"full_attention"});
  const auto third = [&](int number) {
    return rows_of("in_proj", number * width, width, 3 * width);
  };
  return {.renames = kLfm2Renames,
          .recurrent = {.layers = listed ? *listed : states_by_index(fields, sizes.layers),
                        .shape = {.channels = width, .taps = taps_field(fields, "conv_L_cache", 3)},
                        .names = {.block = "conv.", .taps = "conv"},
                        .inputs = {third(2)},
                        .input_gate = third(0),
                        .gate = {third(1)},
                        .has_taps_bias = bias,
                        .has_bias = bias},
          .qk_norm = true};
}

void resize_with_experts(const FileFields& fields, ModelConfig& sizes) {
  sizes.rms_eps = static_cast<float>(above_zero(fields, "norm_eps", 1e-5));
}

// Dense layers below, experts above.
Blocks read_with_experts(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(
      fields,
      {.absent_count = 32, .absent_chosen = 4, .absent_width = 1792, .absent_normalises = true});
  if (experts.routing.experts == 0) fields.refuse("num_experts", "at least 1");
  experts.routing.score = RouterScore::kSigmoid;
  experts.routing.scale = static_cast<float>(factor(fields, "routed_scaling_factor", 1.0));
  experts.has_score_bias = fields.boolean("use_expert_bias").value_or(true);
  experts.names.block = "feed_forward.";
  experts.names.gate = "w1";
  experts.names.up = "w3";
  experts.names.down = "w2";
  experts.names.score_bias = "expert_bias";
  const std::int64_t dense = fields.integer("num_dense_layers", {0}).value_or(2);
  for (int layer = 0; layer < sizes.layers; ++layer) experts.layers.push_back(layer >= dense);
  Blocks blocks = read_lfm2(fields, sizes);
  blocks.experts = experts;
  return blocks;
}

}  // namespace

extern const Family lfm2{.architecture = "Lfm2ForCausalLM",
                         .model_type = "lfm2",
                         .absent = {.heads = 32,
                                    .intermediate = 12288,
                                    .kv_heads = 8,
                                    .max_position = 128000,
                                    .rope_theta = 1e6,
                                    .tied_embeddings = true},
                         .features = kLfm2Features,
                         .read = read_lfm2,
                         .has_states = true,
                         .resize = resize_lfm2};

extern const Family lfm2_moe{.architecture = "Lfm2MoeForCausalLM",
                             .model_type = "lfm2_moe",
                             .absent = {.heads = 32,
                                        .intermediate = 7168,
                                        .kv_heads = 8,
                                        .max_position = 128000,
                                        .rope_theta = 1e6,
                                        .tied_embeddings = true},
                             .features = kLfm2ExpertFeatures,
                             .read = read_with_experts,
                             .has_states = true,
                             .resize = resize_with_experts};

}  // namespace foretoken::family
