#include "model/config/families.h"
#include "model/config/family_fields.h"

namespace foretoken::family {

extern const Family llama{
    .architecture = "LlamaForCausalLM",
    .model_type = "llama",
    .absent = {.max_position = 2048},
    .read = [](const FileFields& fields, const ModelConfig&) -> Blocks {
      const bool bias = is_on(fields, "attention_bias");
      return {.qkv_bias = bias, .o_bias = bias, .mlp_bias = is_on(fields, "mlp_bias")};
    }};

}  // namespace foretoken::family
