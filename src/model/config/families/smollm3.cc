#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kSmollm3Features[] = {"no_rope_layers", "no_rope_layer_interval"};

Blocks read_smollm3(const FileFields& fields, const ModelConfig& sizes) {
  const bool bias = is_on(fields, "attention_bias");
  Blocks blocks{.qkv_bias = bias,
                .o_bias = bias,
                .layer_rope = listed_ropes(fields, sizes.layers),
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
