#include "model/config/delta_fields.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

Blocks read_qwen3_next(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks = read_delta_blocks(fields, sizes);
  store_by_key_head(blocks.recurrent, is_on(fields, "linear_inputs_in_turn"));
  blocks.experts = read_experts(
      fields,
      {.absent_count = 512, .absent_chosen = 10, .absent_width = 512, .absent_normalises = true});
  blocks.experts.stacks = ExpertStacks::kRows;
  read_gated_shared(fields, blocks.experts, sizes.layers);
  return blocks;
}

}  // namespace

extern const Family qwen3_next{.architecture = "Qwen3NextForCausalLM",
                               .model_type = "qwen3_next",
                               .absent = {.kv_heads = 2, .head_dim = 256, .max_position = 32768},
                               .features = kDeltaExpertFeatures,
                               .read = read_qwen3_next,
                               .has_states = true};

}  // namespace foretoken::family
