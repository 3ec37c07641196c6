#include "model/config/families.h"
#include "model/config/family_fields.h"

namespace foretoken::family {

extern const Family qwen3{.architecture = "Qwen3ForCausalLM",
                          .model_type = "qwen3",
                          .absent = {.kv_heads = 32, .head_dim = 128, .max_position = 32768},
                          .read = [](const FileFields& fields, const ModelConfig& sizes) -> Blocks {
                            const bool bias = is_on(fields, "attention_bias");
                            return {.qkv_bias = bias,
                                    .o_bias = bias,
                                    .qk_norm = true,
                                    .layer_window = upper_windows(fields, sizes.layers),
                                    .mlp_bias = is_on(fields, "mlp_bias")};
                          }};

}  // namespace foretoken::family
