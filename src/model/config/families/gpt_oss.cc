#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// The activation has constants that no checkpoint has changed.
void check_activation(const FileFields& fields) {
  constexpr double kSteepness = 1.702, kLimit = 7.0;
  if (fields.number("swiglu_alpha").value_or(kSteepness) != kSteepness)
    fields.refuse("swiglu_alpha", "1.702");
  if (fields.number("swiglu_limit").value_or(kLimit) != kLimit)
    fields.refuse("swiglu_limit", "7.0");
}

// Without settings transformers takes yarn with factor 32. A file that leaves them out may mean none.
void check_rope(const FileFields& fields) {
  if (fields.object("rope_parameters") == nullptr && fields.object("rope_scaling") == nullptr)
    fields.refuse_missing("rope_parameters");
}

Blocks read_gpt_oss(const FileFields& fields, const ModelConfig& sizes) {
  check_activation(fields);
  check_rope(fields);
  ExpertBlocks experts =
      read_experts(fields, {.width = "intermediate_size", .absent_count = 128, .absent_chosen = 4});
  if (experts.routing.experts == 0) fields.refuse("num_local_experts", "at least 1");
  experts.routing.normalises = true;
  experts.has_bias = experts.has_router_bias = true;
  experts.stacks = ExpertStacks::kTurned;
  experts.names.router = "router";
  const bool bias = fields.boolean("attention_bias").value_or(true);
  const std::int64_t window = fields.integer("sliding_window", {1}).value_or(128);
  std::vector<int> windows;
  if (!fields.has_null("sliding_window"))
    for (const bool slides :
         sliding_layers(fields, sizes.layers, [](int layer) { return layer % 2 == 0; }))
      windows.push_back(slides ? static_cast<int>(window) : 0);
  return {.qkv_bias = bias,
          .o_bias = bias,
          .has_sinks = true,
          .layer_window = windows,
          .activation = Activation::kClampedSwiglu,
          .experts = experts};
}

}  // namespace

extern const Family gpt_oss{.architecture = "GptOssForCausalLM",
                            .model_type = "gpt_oss",
                            .absent = {.kv_heads = 8,
                                       .head_dim = 64,
                                       .max_position = 131072,
                                       .rope_theta = 150000.0,
                                       .rms_eps = 1e-5},
                            .features = kExpertFeatures,
                            .read = read_gpt_oss};

}  // namespace foretoken::family
