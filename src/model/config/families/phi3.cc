#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kPhi3Features[] = {"partial_rotary_factor"};

// q, k and v are stored as one matrix, gate and up as another. Without a window in its config a
// model has none.
Blocks read_phi3(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks{.is_qkv_fused = true,
                .rotary_dim = rotary_dim(fields, sizes.head_dim),
                .is_gate_up_fused = true};
  if (fields.has("sliding_window"))
    blocks.layer_window = sliding_windows(fields, sizes.layers, [](int) { return true; });
  return blocks;
}

}  // namespace

extern const Family phi3{.architecture = "Phi3ForCausalLM",
                         .model_type = "phi3",
                         .absent = {.max_position = 4096, .rms_eps = 1e-5},
                         .features = kPhi3Features,
                         .read = read_phi3};

}  // namespace foretoken::family
