#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "base/index.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"
#include "model/config/state_fields.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGraniteHybridFeatures[] = {
    "embedding_multiplier", "residual_multiplier", "attention_multiplier",
    "logits_scaling",       "num_local_experts",   "num_experts_per_tok"};

constexpr Rename kGraniteHybridRenames[] = {{"shared_mlp.input_linear", "mlp.gate_up_proj"},
                                            {"shared_mlp.output_linear", "mlp.down_proj"}};

// With experts the MLP is one more, which every row uses.
constexpr Rename kExpertRenames[] = {
    {"block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj"},
    {"block_sparse_moe.output_linear.weight", "block_sparse_moe.experts.down_proj"},
    {"shared_mlp.input_linear", "block_sparse_moe.shared_experts.gate_up_proj"},
    {"shared_mlp.output_linear", "block_sparse_moe.shared_experts.down_proj"}};

ExpertBlocks granite_hybrid_experts(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(
      fields,
      {.width = "intermediate_size", .absent_count = 8, .absent_chosen = 2, .absent_width = 11008});
  if (experts.routing.experts == 0) return experts;
  experts.routing.normalises = true;
  experts.stacks = ExpertStacks::kRows;
  experts.shared_intermediate = sizes.intermediate;
  experts.names.block = "block_sparse_moe.";
  experts.names.router = "router.layer";
  return experts;
}

void resize_granite_hybrid(const FileFields& fields, ModelConfig& sizes) {
  sizes.intermediate = size_field(fields, "shared_intermediate_size", 1024);
}

// transformers writes infinity as {"__float__": "Infinity"}.
std::optional<double> limit_of(const boost::json::value& limit) {
  if (limit.is_number()) return limit.to_number<double>();
  const auto* const object = limit.if_object();
  const auto* const name = object == nullptr ? nullptr : object->if_contains("__float__");
  if (name == nullptr || *name != "Infinity") return std::nullopt;
  return std::numeric_limits<double>::infinity();
}

// Bounds of dt, which is above 0.
void read_limits(const FileFields& fields, RecurrentShape& shape) {
  const boost::json::value* const stored = fields.find("time_step_limit");
  if (stored == nullptr || stored->is_null()) return;
  const auto* const limits = stored->if_array();
  const bool are_two = limits != nullptr && limits->size() == 2;
  const auto least = are_two ? limit_of((*limits)[0]) : std::nullopt;
  const auto most = are_two ? limit_of((*limits)[1]) : std::nullopt;
  if (!least || !most || !(*least >= 0.0 && *most > *least))
    fields.refuse("time_step_limit", "two rising numbers");
  if (*least == 0.0 && std::isinf(*most)) return;
  shape.least_dt = static_cast<float>(*least);
  shape.most_dt = static_cast<float>(*most);
}

// How many keys and queries a layer has: each is of neighbouring heads, whose results are normed
// together, too.
int groups_of(const FileFields& fields, int heads) {
  const int groups = size_field(fields, "mamba_n_groups", 1);
  if (heads % groups != 0)
    fields.refuse("mamba_n_groups", "a divisor of mamba_n_heads = " + std::to_string(heads));
  return groups;
}

// Mamba-2: in_proj is gate | x | B | C | dt, with B and C of all groups.
RecurrentBlocks mamba(const FileFields& fields, const ModelConfig& sizes) {
  const int heads = size_field(fields, "mamba_n_heads", 128);
  const int width = size_field(fields, "mamba_expand", 2) * sizes.hidden;
  const int states = size_field(fields, "mamba_d_state", 256);
  const int groups = groups_of(fields, heads), keys = groups * states;
  if (width % heads != 0) fields.refuse("mamba_n_heads", "a divisor of mamba_expand * hidden_size");
  const boost::json::value* const size = fields.find("mamba_d_head");
  const bool is_named = size != nullptr && !size->is_string();  // else "auto"
  if (is_named && size_field(fields, "mamba_d_head", 0) != width / heads)
    fields.refuse("mamba_d_head", std::to_string(width / heads));
  RecurrentShape shape{.channels = width + 2 * keys,
                       .taps = taps_field(fields, "mamba_d_conv", 4),
                       .key_heads = groups,
                       .value_heads = heads,
                       .key_dim = states,
                       .value_dim = width / heads,
                       .first = {.query = width + keys, .key = width, .value = 0}};
  read_limits(fields, shape);
  const int stored = width + shape.channels + heads;
  const auto listed = listed_states(fields, sizes.layers, {"linear_attention", "mamba"},
                                    {"full_attention", "attention"});
  return {.layers = listed ? *listed : std::vector<bool>(at(sizes.layers), true),
          .shape = shape,
          .names = {.block = "mamba."},
          .inputs = {rows_of("in_proj", width, shape.channels, stored)},
          .gate = {rows_of("in_proj", 0, width, stored)},
          .dt = rows_of("in_proj", width + shape.channels, heads, stored),
          .has_silu = true,
          .has_taps_bias = fields.boolean("mamba_conv_bias").value_or(true),
          .has_bias = is_on(fields, "mamba_proj_bias"),
          .has_skip = true,
          .gate_curve = GateCurve::kSilu,
          .norm_groups = groups};
}

Blocks read_granite_hybrid(const FileFields& fields, const ModelConfig& sizes) {
  const ExpertBlocks experts = granite_hybrid_experts(fields, sizes);
  const bool bias = is_on(fields, "attention_bias");
  const bool rotates = fields.string("position_embedding_type").value_or("nope") == "rope";
  using Renames = std::span<const Rename>;
  return {.renames = experts.routing.experts > 0 ? Renames(kExpertRenames)
                                                 : Renames(kGraniteHybridRenames),
          .recurrent = mamba(fields, sizes),
          .qkv_bias = bias,
          .o_bias = bias,
          .score_scale = factor(fields, "attention_multiplier", 1.0),
          .layer_rope = rotates ? std::vector<LayerRope>()
                                : std::vector<LayerRope>(at(sizes.layers), LayerRope::kNone),
          .is_gate_up_fused = fields.boolean("is_shared_mlp_fused").value_or(true),
          .experts = experts,
          .embedding_scale = factor(fields, "embedding_multiplier", 1.0),
          .residual_scale = static_cast<float>(factor(fields, "residual_multiplier", 1.0)),
          .logit_scale = static_cast<float>(1.0 / factor(fields, "logits_scaling", 1.0))};
}

}  // namespace

extern const Family granite_hybrid{.architecture = "GraniteMoeHybridForCausalLM",
                                   .model_type = "granitemoehybrid",
                                   .absent = {.max_position = 2048},
                                   .features = kGraniteHybridFeatures,
                                   .read = read_granite_hybrid,
                                   .has_states = true,
                                   .resize = resize_granite_hybrid};

}  // namespace foretoken::family
