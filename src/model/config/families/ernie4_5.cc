#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {

extern const Family ernie4_5{
    .architecture = "Ernie4_5ForCausalLM",
    .model_type = "ernie4_5",
    .absent = {.heads = 16,
               .intermediate = 3072,
               .vocab = 103424,
               .kv_heads = 2,
               .head_dim = 128,
               .max_position = 131072,
               .rope_theta = 500000.0,
               .rms_eps = 1e-5,
               .tied_embeddings = true},
    .read = [](const FileFields& fields, const ModelConfig&) -> Blocks {
      const bool bias = is_on(fields, "use_bias");
      return {.qkv_bias = bias, .o_bias = bias, .pairs_neighbours = true, .mlp_bias = bias};
    }};

// As files of the first months name it.
extern const Family ernie4_5_first = [] {
  Family family = ernie4_5;
  family.architecture = "Ernie4_5_ForCausalLM";
  return family;
}();

}  // namespace foretoken::family
