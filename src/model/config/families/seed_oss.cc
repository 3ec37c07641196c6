#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {

extern const Family seed_oss{.architecture = "SeedOssForCausalLM",
                             .model_type = "seed_oss",
                             .absent = {.heads = 80,
                                        .intermediate = 27648,
                                        .vocab = 155136,
                                        .kv_heads = 8,
                                        .head_dim = 128,
                                        .max_position = 524288},
                             .read = [](const FileFields& fields, const ModelConfig&) -> Blocks {
                               return {.qkv_bias = fields.boolean("attention_bias").value_or(true),
                                       .o_bias = is_on(fields, "attention_out_bias"),
                                       .mlp_bias = is_on(fields, "mlp_bias")};
                             }};

}  // namespace foretoken::family
