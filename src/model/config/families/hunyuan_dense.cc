#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr Rename kHunyuanRenames[] = {{"query_layernorm.", "q_norm."},
                                      {"key_layernorm.", "k_norm."}};

Blocks read_hunyuan_dense(const FileFields& fields, const ModelConfig&) {
  const bool bias = is_on(fields, "attention_bias");
  check_magnitude(fields);
  return {.renames = kHunyuanRenames,
          .qkv_bias = bias,
          .o_bias = bias,
          .qk_norm_behind = true,
          .has_rope_alpha = true};
}

}  // namespace

extern const Family hunyuan_dense{
    .architecture = "HunYuanDenseV1ForCausalLM",
    .model_type = "hunyuan_v1_dense",
    .absent = {.heads = 32, .intermediate = 11008, .vocab = 290943, .rms_eps = 1e-5},
    .read = read_hunyuan_dense};

}  // namespace foretoken::family
