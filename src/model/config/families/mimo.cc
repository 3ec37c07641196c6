#include "model/config/families.h"
#include "model/config/family_fields.h"

namespace foretoken::family {

// A Qwen 2 with draft heads in its checkpoint.
extern const Family mimo{.architecture = "MiMoForCausalLM",
                         .model_type = "mimo",
                         .absent = {.kv_heads = 32, .max_position = 32768},
                         .read = [](const FileFields& fields, const ModelConfig& sizes) -> Blocks {
                           return {.qkv_bias = true,
                                   .layer_window = upper_windows(fields, sizes.layers)};
                         }};

}  // namespace foretoken::family
