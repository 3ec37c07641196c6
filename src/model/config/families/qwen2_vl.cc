#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// A Qwen 2 with sections of positions.
Blocks read_qwen2_vl(const FileFields& fields, const ModelConfig& sizes) {
  return {.qkv_bias = true,
          .has_rope_sections = true,
          .layer_window = upper_windows(fields, sizes.layers, 80)};
}

constexpr Family::Absent kQwen2VlAbsent{.heads = 64,
                                        .intermediate = 29568,
                                        .vocab = 152064,
                                        .kv_heads = 8,
                                        .max_position = 32768,
                                        .rope_theta = 1000000.0,
                                        .rms_eps = 1e-5};

}  // namespace

extern const Family qwen2_vl{.architecture = "Qwen2VLForConditionalGeneration",
                             .model_type = "qwen2_vl",
                             .absent = kQwen2VlAbsent,
                             .read = read_qwen2_vl,
                             .text_type = "qwen2_vl_text",
                             .resize = divide_into_heads};

extern const Family qwen2_5_vl{.architecture = "Qwen2_5_VLForConditionalGeneration",
                               .model_type = "qwen2_5_vl",
                               .absent = kQwen2VlAbsent,
                               .read = read_qwen2_vl,
                               .text_type = "qwen2_5_vl_text",
                               .resize = divide_into_heads};

}  // namespace foretoken::family
