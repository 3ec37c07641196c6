#include <string>

#include "base/index.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kSmollm3Features[] = {"no_rope_layers", "no_rope_layer_interval"};

// 1 in "no_rope_layers": the layer is rotated. Without that list every n-th layer is not.
std::vector<LayerRope> layer_rope(const FileFields& fields, int layers) {
  const std::int64_t interval = fields.integer("no_rope_layer_interval", {1}).value_or(4);
  const auto listed = fields.integers("no_rope_layers", {0, 1});
  if (!listed.empty() && listed.size() < at(layers))
    fields.refuse("no_rope_layers", std::to_string(layers) + " entries");
  std::vector<LayerRope> ropes;
  for (int layer = 0; layer < layers; ++layer) {
    const bool rotates = listed.empty() ? (layer + 1) % interval != 0 : listed[at(layer)] == 1;
    ropes.push_back(rotates ? LayerRope::kMain : LayerRope::kNone);
  }
  return ropes;
}

Blocks read_smollm3(const FileFields& fields, const ModelConfig& sizes) {
  const bool bias = is_on(fields, "attention_bias");
  Blocks blocks{.qkv_bias = bias,
                .o_bias = bias,
                .layer_rope = layer_rope(fields, sizes.layers),
                .mlp_bias = is_on(fields, "mlp_bias")};
  // Layers that are listed slide whatever "use_sliding_window" says.
  const bool slides = is_on(fields, "use_sliding_window") || fields.has("layer_types");
  if (slides && fields.has("sliding_window"))
    blocks.layer_window = sliding_windows(
        fields, sizes.layers, [&](int layer) { return blocks.rope_of(layer) == LayerRope::kNone; });
  return blocks;
}

}  // namespace

extern const Family smollm3{.architecture = "SmolLM3ForCausalLM",
                            .model_type = "smollm3",
                            .absent = {.kv_heads = 4,
                                       .max_position = 32768,
                                       .rope_theta = 2000000.0,
                                       .tied_embeddings = true},
                            .features = kSmollm3Features,
                            .read = read_smollm3};

}  // namespace foretoken::family
