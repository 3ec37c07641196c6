#include "model/config/delta_fields.h"

#include <string>

#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/state_fields.h"

namespace foretoken {
namespace {

std::vector<bool> state_layers(const FileFields& fields, int layers) {
  if (const auto listed = listed_states(fields, layers, {"linear_attention"}, {"full_attention"}))
    return *listed;
  const int interval = size_field(fields, "full_attention_interval", 4);
  std::vector<bool> keeps;
  for (int layer = 0; layer < layers; ++layer) keeps.push_back((layer + 1) % interval != 0);
  return keeps;
}

RecurrentShape delta_shape(const FileFields& fields) {
  RecurrentShape shape{.taps = taps_field(fields, "linear_conv_kernel_dim", 4),
                       .key_heads = size_field(fields, "linear_num_key_heads", 16),
                       .value_heads = size_field(fields, "linear_num_value_heads", 32),
                       .key_dim = size_field(fields, "linear_key_head_dim", 128),
                       .value_dim = size_field(fields, "linear_value_head_dim", 128),
                       .takes_turns = is_on(fields, "linear_heads_in_turn"),
                       .corrects = true,
                       .normalises_qk = true};
  if (shape.value_heads % shape.key_heads != 0)
    fields.refuse("linear_num_value_heads",
                  "a multiple of linear_num_key_heads = " + std::to_string(shape.key_heads));
  const int keys = shape.key_heads * shape.key_dim;
  shape.first = {.query = 0, .key = keys, .value = 2 * keys};
  shape.channels = 2 * keys + shape.value_heads * shape.value_dim;
  return shape;
}

}  // namespace

Blocks read_delta_blocks(const FileFields& fields, const ModelConfig& sizes) {
  const bool bias = is_on(fields, "attention_bias");
  Blocks blocks{.qkv_bias = bias,
                .o_bias = bias,
                .qk_norm = true,
                .has_output_gate = true,
                .rotary_dim = rotary_dim(fields, sizes.head_dim, 0.25),
                .has_rope_sections = true,
                .norm_offset = 1};
  RecurrentBlocks& states = blocks.recurrent;
  const RecurrentShape shape = delta_shape(fields);
  const int values = shape.value_heads * shape.value_dim, heads = shape.value_heads;
  states = {.layers = state_layers(fields, sizes.layers),
            .shape = shape,
            .names = {.block = "linear_attn."},
            .inputs = {whole_matrix("in_proj_qkv", shape.channels)},
            .gate = {whole_matrix("in_proj_z", values)},
            .dt = whole_matrix("in_proj_a", heads),
            .beta = whole_matrix("in_proj_b", heads),
            .has_silu = true,
            .gate_curve = GateCurve::kSilu,
            .norms_heads = true};
  return blocks;
}

void store_by_key_head(RecurrentBlocks& states, bool inputs_in_turn) {
  const RecurrentShape& shape = states.shape;
  const int group = shape.value_heads / shape.key_heads;
  const int values = group * shape.value_dim, step = 2 * shape.key_dim + 2 * values;
  const auto of_heads = [&](int first, int rows) {
    return StoredRows{.name = "in_proj_qkvz",
                      .first = first,
                      .rows = rows,
                      .step = step,
                      .blocks = shape.key_heads,
                      .stored = shape.key_heads * step};
  };
  const auto of_groups = [&](int first) {
    return StoredRows{.name = "in_proj_ba",
                      .first = first,
                      .rows = group,
                      .step = 2 * group,
                      .blocks = shape.key_heads,
                      .stored = 2 * shape.value_heads};
  };
  if (!inputs_in_turn) {
    states.inputs = {of_heads(0, shape.key_dim), of_heads(shape.key_dim, shape.key_dim),
                     of_heads(2 * shape.key_dim, values)};
    states.gate = {of_heads(2 * shape.key_dim + values, values)};
  }
  states.beta = of_groups(0);
  states.dt = of_groups(group);
}

void read_gated_shared(const FileFields& fields, ExpertBlocks& experts, int layers) {
  experts.layers = sparse_layers(fields, layers);
  experts.shared_intermediate =
      size_field(fields, "shared_expert_intermediate_size", experts.intermediate);
  experts.is_shared_gated = true;
  experts.names.shared = "shared_expert.";
}

}  // namespace foretoken
