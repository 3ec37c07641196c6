#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {

// Norms stand behind the blocks only, and those of q and k are of all heads together.
extern const Family olmo2{
    .architecture = "Olmo2ForCausalLM",
    .model_type = "olmo2",
    .absent = {.max_position = 2048, .rms_eps = 1e-5},
    .read = [](const FileFields& fields, const ModelConfig&) -> Blocks {
      const bool bias = is_on(fields, "attention_bias");
      return {.qkv_bias = bias, .o_bias = bias, .whole_qk_norm = true, .norms = norms_behind()};
    }};

}  // namespace foretoken::family
