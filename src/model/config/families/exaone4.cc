#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// Where some layers slide, the others are not rotated. A pattern of letters is always beside the
// list of types that follows from it.
Blocks read_exaone4(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks{.qk_norm = true, .norms = norms_behind()};
  if (fields.has_null("sliding_window")) return blocks;
  const std::int64_t pattern =
      fields.has("layer_types") ? 1 : fields.integer("sliding_window_pattern", {1}).value_or(4);
  blocks.layer_window =
      sliding_windows(fields, sizes.layers, [=](int layer) { return (layer + 1) % pattern != 0; });
  for (const int window : blocks.layer_window)
    blocks.layer_rope.push_back(window > 0 ? LayerRope::kMain : LayerRope::kNone);
  return blocks;
}

}  // namespace

extern const Family exaone4{.architecture = "Exaone4ForCausalLM",
                            .model_type = "exaone4",
                            .absent = {.heads = 32,
                                       .intermediate = 16384,
                                       .vocab = 102400,
                                       .kv_heads = 32,
                                       .rms_eps = 1e-5},
                            .read = read_exaone4};

}  // namespace foretoken::family
