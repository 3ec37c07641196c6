#pragma once
// What the configs of families with gated DeltaNet layers have in common, for the files in
// families/. Throws Error naming the key. Pure functions.

#include <string_view>

#include "base/file_fields.h"
#include "model/config/blocks.h"
#include "model/config/expert_fields.h"
#include "model/config/model_config.h"

namespace foretoken {

// Keys that these families take care of (Family::features).
inline constexpr std::string_view kDeltaFeatures[] = {"partial_rotary_factor"};
inline constexpr auto kDeltaExpertFeatures = expert_features_and("partial_rotary_factor");

// Layers by "layer_types", or all but every "full_attention_interval"-th; heads by "linear_*".
// Attention has an output gate and norms of heads; norms are stored less 1. The checkpoint holds
// q, k and v of such a layer as one matrix, the rest as others.
Blocks read_delta_blocks(const FileFields& fields, const ModelConfig& sizes);

// The checkpoint holds two matrices: of each key head q | k | v | gate, and beta | dt.
// inputs_in_turn: but the first of them as read_delta_blocks() says.
void store_by_key_head(RecurrentBlocks& blocks, bool inputs_in_turn);

// An expert that every row uses, behind a gate: "shared_expert_intermediate_size". Which layers have
// experts.
void read_gated_shared(const FileFields& fields, ExpertBlocks& experts, int layers);

}  // namespace foretoken
