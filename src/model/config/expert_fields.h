#pragma once
// What the configs of families with experts have in common, for the files in families/. Throws
// Error naming the key. Pure functions.

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/file_fields.h"
#include "model/config/expert_blocks.h"
#include "model/config/model_config.h"

namespace foretoken {

// Keys that families with experts take care of (Family::features).
inline constexpr std::string_view kExpertFeatures[] = {"num_experts", "num_local_experts",
                                                       "n_routed_experts", "num_experts_per_tok",
                                                       "moe_intermediate_size"};

// These and others of the family.
template <typename... Keys>
constexpr auto expert_features_and(Keys... others) {
  std::array<std::string_view, std::size(kExpertFeatures) + sizeof...(Keys)> all{others...};
  std::ranges::copy(kExpertFeatures, all.begin() + sizeof...(Keys));
  return all;
}

// The same with latent attention.
inline constexpr auto kLatentExpertFeatures = expert_features_and("kv_lora_rank", "hidden_act");

// What keys are called in a family, and what they mean where they are left out.
struct ExpertKeys {
  std::string_view width = "moe_intermediate_size", chosen = "num_experts_per_tok";
  std::int64_t absent_count = 0, absent_chosen = 0, absent_width = 0;
  bool absent_normalises = false;
};

// How many experts there are (files have one of three names for it), how many of them a row uses
// ("num_experts_per_tok"), how wide they are, whether weights are normalised ("norm_topk_prob"). No
// experts where the config says 0.
ExpertBlocks read_experts(const FileFields& fields, const ExpertKeys& keys);

// Which layers have experts: every "decoder_sparse_step"-th but those in "mlp_only_layers".
std::vector<bool> sparse_layers(const FileFields& fields, int layers);

// Which layers have experts: those from "first_k_dense_replace" on.
std::vector<bool> upper_layers(const FileFields& fields, int layers, std::int64_t absent);

// Groups ("n_group", "topk_group") and the scale of weights ("routed_scaling_factor"); what has no
// key stays.
void read_groups(const FileFields& fields, Routing& routing);

// The width of what "n_shared_experts" experts are together, as one MLP.
int shared_width(const FileFields& fields, const ExpertBlocks& experts, std::int64_t absent);

}  // namespace foretoken
