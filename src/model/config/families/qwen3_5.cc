#include "model/config/delta_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {

extern const Family qwen3_5{
    .architecture = "Qwen3_5ForCausalLM",
    .model_type = "qwen3_5_text",
    .absent = {.heads = 16, .vocab = 248320, .kv_heads = 4, .head_dim = 256, .max_position = 32768},
    .features = kDeltaFeatures,
    .read = read_delta_blocks,
    .has_states = true};

}  // namespace foretoken::family
