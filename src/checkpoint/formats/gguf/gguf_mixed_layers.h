#pragma once
// What GGUF files say of models whose layers differ: in the sizes of heads, in the width of the MLP,
// in whose keys and values they read. Used by the rows of gguf_architectures.cc. Constants, and a
// function that throws Error naming the key.

#include <boost/json/object.hpp>

#include "checkpoint/formats/gguf/gguf_architecture.h"

namespace foretoken {

// Scales have names of their own, whole.
inline constexpr GgufArchitecture::LayerName kGgufMixedNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"layer_output_scale.weight", "layer_scalar"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"ffn_gate_inp", "router.proj"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_gate_up_exps", "experts.*.gate_up_proj"},
    {"ffn_down_exps", "experts.*.down_proj"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
};

inline constexpr GgufArchitecture::NumberKey kGgufMixedNumbers[] = {
    {"expert_count", "num_experts"},
    {"expert_used_count", "top_k_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};

// Lists of layers, the rope of each kind, and what is shared.
void add_gguf_mixed_layers(const GgufModel& model, boost::json::object& config);

}  // namespace foretoken
