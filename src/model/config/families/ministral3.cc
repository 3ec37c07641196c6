#include "model/config/family_fields.h"
#include "model/config/family_table.h"
#include "model/config/rope_settings.h"

namespace foretoken::family {
namespace {

// A Mistral whose scores grow with the position, as its rotary settings say.
Blocks read_ministral3(const FileFields& fields, const ModelConfig& sizes) {
  if (fields.object(rope_key(fields)) == nullptr) fields.refuse_missing("rope_parameters");
  const FileFields rope = rope_settings(fields);
  Blocks blocks;
  blocks.score_growth = rope.number("llama_4_scaling_beta").value_or(0.0);
  if (blocks.score_growth < 0.0) rope.refuse("llama_4_scaling_beta", "a number of at least 0");
  if (blocks.score_growth > 0.0)
    blocks.score_growth_length = rope.required_integer("original_max_position_embeddings", {1});
  if (fields.has("sliding_window")) blocks.layer_window = equal_windows(fields, sizes.layers);
  return blocks;
}

}  // namespace

extern const Family ministral3{.architecture = "Ministral3ForCausalLM",
                               .model_type = "ministral3",
                               .absent = {.kv_heads = 8,
                                          .head_dim = 128,
                                          .max_position = 262144,
                                          .rope_theta = 1000000.0,
                                          .rms_eps = 1e-5},
                               .read = read_ministral3};

}  // namespace foretoken::family
