#include "model/config/families.h"
#include "model/config/family_fields.h"

namespace foretoken::family {

extern const Family mistral{
    .architecture = "MistralForCausalLM",
    .model_type = "mistral",
    .absent = {.kv_heads = 8, .max_position = 131072},
    .read = [](const FileFields& fields, const ModelConfig& sizes) -> Blocks {
      const bool bias = is_on(fields, "attention_bias");
      return {.qkv_bias = bias,
              .o_bias = bias,
              .layer_window = sliding_windows(fields, sizes.layers, 0),
              .mlp_bias = is_on(fields, "mlp_bias")};
    }};

}  // namespace foretoken::family
