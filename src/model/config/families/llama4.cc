#include <string>

#include "base/index.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kLlama4Features[] = {
    "num_experts",    "num_local_experts",      "n_routed_experts",    "num_experts_per_tok",
    "no_rope_layers", "no_rope_layer_interval", "attention_chunk_size"};
constexpr Rename kLlama4Renames[] = {{"feed_forward.", "mlp."}};

// Layers that "layer_types" names, or those that rotate, see chunks. Null: none does.
std::vector<int> llama4_chunks(const FileFields& fields, const std::vector<LayerRope>& ropes) {
  const auto types = fields.strings("layer_types");
  if (types && types->size() != ropes.size())
    fields.refuse("layer_types", std::to_string(ropes.size()) + " entries");
  const bool has_size = !fields.has_null("attention_chunk_size");
  const auto size = static_cast<int>(fields.integer("attention_chunk_size", {1}).value_or(8192));
  std::vector<int> chunks;
  for (std::size_t layer = 0; layer < ropes.size(); ++layer) {
    const bool is_cut = types ? (*types)[layer] == "chunked_attention"
                              : has_size && ropes[layer] != LayerRope::kNone;
    if (is_cut && !has_size) fields.refuse("attention_chunk_size", "a size (layers have chunks)");
    chunks.push_back(is_cut ? size : 0);
  }
  return chunks;
}

// "moe_layers", or every n-th one.
std::vector<bool> llama4_sparse_layers(const FileFields& fields, int layers) {
  const IntRange numbers{0, layers - 1};
  std::vector<bool> have(at(layers));
  if (fields.has("moe_layers")) {
    for (const std::int64_t layer : fields.integers("moe_layers", numbers)) have[at(layer)] = true;
    return have;
  }
  const std::int64_t step = fields.integer("interleave_moe_layer_step", {1}).value_or(1);
  for (int layer = 0; layer < layers; ++layer) have[at(layer)] = (layer + 1) % step == 0;
  return have;
}

ExpertBlocks llama4_experts(const FileFields& fields, int layers) {
  ExpertBlocks experts = read_experts(
      fields,
      {.width = "intermediate_size", .absent_count = 16, .absent_chosen = 1, .absent_width = 8192});
  experts.layers = llama4_sparse_layers(fields, layers);
  if (experts.routing.chosen > 1)
    fields.refuse("num_experts_per_tok", "1 (a score weighs what its expert reads)");
  experts.routing.normalises = true;  // the one expert counts as it is
  experts.weighs_inputs = true;
  experts.shared_intermediate = experts.intermediate;
  experts.stacks = ExpertStacks::kColumns;
  experts.names.router = "router";
  experts.names.shared = "shared_expert.";
  return experts;
}

// Older configs have a number.
bool llama4_grows(const FileFields& fields) {
  const auto* const value = fields.find("attn_temperature_tuning");
  if (value != nullptr && value->is_int64()) return value->get_int64() != 0;
  return fields.boolean("attn_temperature_tuning").value_or(true);
}

// Layers that rotate see chunks; the others see all, by scores that grow.
Blocks read_llama4(const FileFields& fields, const ModelConfig& sizes) {
  const bool bias = is_on(fields, "attention_bias");
  Blocks blocks{.renames = kLlama4Renames,
                .qkv_bias = bias,
                .o_bias = bias,
                .norms_rotated = fields.boolean("use_qk_norm").value_or(true),
                .pairs_neighbours = true,
                .layer_rope = listed_ropes(fields, sizes.layers),
                .experts = llama4_experts(fields, sizes.layers)};
  blocks.layer_chunk = llama4_chunks(fields, blocks.layer_rope);
  if (blocks.norms_rotated) check_magnitude(fields);
  if (!llama4_grows(fields)) return blocks;
  blocks.score_growth = fields.number("attn_scale").value_or(0.1);
  if (blocks.score_growth < 0.0) fields.refuse("attn_scale", "a number of at least 0");
  blocks.score_growth_length = fields.integer("floor_scale", {1}).value_or(8192);
  blocks.score_growth_offset = 1;
  blocks.grows_unrotated = true;
  return blocks;
}

// "intermediate_size" is that of experts.
void resize_llama4(const FileFields& fields, ModelConfig& sizes) {
  sizes.intermediate =
      static_cast<int>(fields.integer("intermediate_size_mlp", {1, 1 << 20}).value_or(16384));
}

}  // namespace

extern const Family llama4{.architecture = "Llama4ForCausalLM",
                           .model_type = "llama4_text",
                           .absent = {.heads = 40,
                                      .intermediate = 8192,
                                      .vocab = 202048,
                                      .kv_heads = 8,
                                      .head_dim = 128,
                                      .max_position = 131072,
                                      .rope_theta = 500000.0,
                                      .rms_eps = 1e-5},
                           .features = kLlama4Features,
                           .read = read_llama4,
                           .resize = resize_llama4};

extern const Family llama4_towers{.architecture = "Llama4ForConditionalGeneration",
                                  .model_type = "llama4",
                                  .text_type = "llama4_text"};

}  // namespace foretoken::family
