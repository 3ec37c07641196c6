#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {

extern const Family mistral{
    .architecture = "MistralForCausalLM",
    .model_type = "mistral",
    .absent = {.kv_heads = 8, .max_position = 131072},
    .read = [](const FileFields& fields, const ModelConfig& sizes) -> Blocks {
      const bool bias = is_on(fields, "attention_bias");
      return {.qkv_bias = bias,
              .o_bias = bias,
              .layer_window = sliding_windows(fields, sizes.layers, [](int) { return true; }),
              .mlp_bias = is_on(fields, "mlp_bias")};
    }};

}  // namespace foretoken::family
