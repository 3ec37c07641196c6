#include <string>

#include "model/config/family_fields.h"
#include "model/config/family_table.h"
#include "model/config/rope_settings.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kPhi3Features[] = {"partial_rotary_factor"};

// The original length of longrope stands beside the settings; in transformers it is 4096 where it
// does not, whatever they say. With factors, what is called yarn is longrope there.
void check_phi3_rope(const FileFields& fields) {
  constexpr std::int64_t kOriginal = 4096;
  constexpr std::string_view kLength = "original_max_position_embeddings";
  const FileFields rope = rope_settings(fields);
  const std::string_view key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string type = rope.string(key).value_or("default");
  if (type == "yarn" && rope.has("short_factor")) rope.refuse(key, "longrope");
  const bool is_long = type == "longrope" || type == "su";
  if (is_long && !fields.has(kLength) && rope.integer(kLength, {1}) != kOriginal)
    fields.refuse_missing(kLength);
}

// q, k and v are stored as one matrix, gate and up as another. Without a window in its config a
// model has none.
Blocks read_phi3(const FileFields& fields, const ModelConfig& sizes) {
  check_phi3_rope(fields);
  Blocks blocks{.is_qkv_fused = true,
                .rotary_dim = rotary_dim(fields, sizes.head_dim),
                .is_gate_up_fused = true};
  if (fields.has("sliding_window")) blocks.layer_window = equal_windows(fields, sizes.layers);
  return blocks;
}

}  // namespace

extern const Family phi3{.architecture = "Phi3ForCausalLM",
                         .model_type = "phi3",
                         .absent = {.max_position = 4096, .rms_eps = 1e-5},
                         .features = kPhi3Features,
                         .read = read_phi3};

}  // namespace foretoken::family
