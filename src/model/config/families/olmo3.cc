#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr double kTheta = 500000.0;

// In transformers, a theta beside the settings by type of layer is not that of layers that slide;
// in older releases it was. So it has to be the usual one.
void check_theta(const FileFields& fields) {
  if (fields.number("rope_theta").value_or(kTheta) == kTheta) return;
  const auto* const by_type = fields.object("rope_parameters");
  const auto* const sliding =
      by_type != nullptr ? by_type->if_contains("sliding_attention") : nullptr;
  if (sliding == nullptr || !sliding->is_object() || !sliding->get_object().contains("rope_theta"))
    fields.refuse("rope_theta", "500000 (others stand by type of layer in rope_parameters)");
}

// An OLMo 2 of which three of four layers slide. Positions are scaled in the others only.
Blocks read_olmo3(const FileFields& fields, const ModelConfig& sizes) {
  check_theta(fields);
  const auto slides = [](int layer) { return (layer + 1) % 4 != 0; };
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .whole_qk_norm = true,
          .local_rope_theta = kTheta,
          .layer_window = sliding_windows(fields, sizes.layers, slides),
          .layer_rope = local_ropes(fields, sizes.layers, slides),
          .norms = norms_behind()};
}

}  // namespace

extern const Family olmo3{.architecture = "Olmo3ForCausalLM",
                          .model_type = "olmo3",
                          .absent = {.max_position = 2048, .rope_theta = kTheta, .rms_eps = 1e-5},
                          .read = read_olmo3};

}  // namespace foretoken::family
