#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

Blocks read_mixtral(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(fields, {.width = "intermediate_size",
                                               .absent_count = 8,
                                               .absent_chosen = 2,
                                               .absent_normalises = true});
  if (experts.routing.experts == 0) fields.refuse("num_local_experts", "at least 1");
  experts.routing.normalises = true;
  experts.names.block = "block_sparse_moe.";
  experts.names.gate = "w1";
  experts.names.up = "w3";
  experts.names.down = "w2";
  const bool slides = fields.has("sliding_window");  // absent: it does not
  return {.layer_window = slides ? equal_windows(fields, sizes.layers) : std::vector<int>(),
          .experts = experts};
}

}  // namespace

extern const Family mixtral{
    .architecture = "MixtralForCausalLM",
    .model_type = "mixtral",
    .absent = {.kv_heads = 8, .max_position = 4096 * 32, .rope_theta = 1e6, .rms_eps = 1e-5},
    .features = kExpertFeatures,
    .read = read_mixtral};

}  // namespace foretoken::family
