#include "model/config/families.h"
#include "model/config/family_fields.h"

namespace foretoken::family {

extern const Family qwen2{.architecture = "Qwen2ForCausalLM",
                          .model_type = "qwen2",
                          .absent = {.kv_heads = 32, .max_position = 32768},
                          .read = [](const FileFields& fields, const ModelConfig& sizes) -> Blocks {
                            return {.qkv_bias = true,
                                    .layer_window = upper_windows(fields, sizes.layers)};
                          }};

}  // namespace foretoken::family
