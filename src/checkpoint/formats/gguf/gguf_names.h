#pragma once
// What GGUF files call the tensors and keys of families whose layers are alike, for the rows of
// gguf_architectures.cc. Those of layers that keep a state are in gguf_states.h, those of layers
// that differ in gguf_mixed_layers.h. Constants.

#include <algorithm>
#include <array>
#include <cstddef>

#include "checkpoint/formats/gguf/gguf_architecture.h"

namespace foretoken::gguf_names {

using LayerName = GgufArchitecture::LayerName;
using NumberKey = GgufArchitecture::NumberKey;

// One list behind the other.
template <std::size_t N, std::size_t M>
consteval std::array<LayerName, N + M> joined(const LayerName (&first)[N],
                                              const std::array<LayerName, M>& second) {
  std::array<LayerName, N + M> all;
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}

inline constexpr LayerName kLayerNames[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.*.gate_proj"},
    {"ffn_up_exps", "mlp.experts.*.up_proj"},
    {"ffn_down_exps", "mlp.experts.*.down_proj"},
    {"exp_probs_b", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"nextn.eh_proj", "eh_proj"},
    {"nextn.enorm", "enorm"},
    {"nextn.hnorm", "hnorm"},
    {"nextn.embed_tokens", "embed_tokens"},
    {"nextn.shared_head_norm", "shared_head.norm"},
    {"nextn.shared_head_head", "shared_head.head"},
};

inline constexpr LayerName kModelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"token_embd_norm", "model.norm"},
    {"output", "lm_head"},
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"nextn.pre_projection", "pre_projection"},
    {"nextn.post_projection", "post_projection"},
};

inline constexpr LayerName kSandwichNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

inline constexpr LayerName kFusedNames[] = {
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
};

inline constexpr LayerName kGlm4Names[] = {
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_up", "mlp.gate_up_proj"},
};

inline constexpr LayerName kMixtralNames[] = {
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.*.w1"},
    {"ffn_up_exps", "block_sparse_moe.experts.*.w3"},
    {"ffn_down_exps", "block_sparse_moe.experts.*.w2"},
};

// The expert that every row uses.
inline constexpr auto kSharedExpertNames = std::to_array<LayerName>({
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
});

inline constexpr auto kQwen2MoeNames =
    joined({{"ffn_gate_inp_shexp", "mlp.shared_expert_gate"}}, kSharedExpertNames);

inline constexpr auto kLlama4Names = joined({{"ffn_gate_inp", "mlp.router"}}, kSharedExpertNames);

inline constexpr NumberKey kLlama4Numbers[] = {
    {"expert_count", "num_local_experts"},
    {"expert_used_count", "num_experts_per_tok"},
};

inline constexpr LayerName kPostNormNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
};

inline constexpr LayerName kGptOssNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_sinks", "self_attn.sinks"},
    {"ffn_gate_inp", "mlp.router"},
};

inline constexpr NumberKey kExpertNumbers[] = {
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"leading_dense_block_count", "first_k_dense_replace"},
};

inline constexpr LayerName kLatentNames[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_k_b", "self_attn.k_b_proj"},
    {"attn_v_b", "self_attn.v_b_proj"},
};

inline constexpr NumberKey kGraniteNumbers[] = {
    {"attention.scale", "attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "logits_scaling"},
};

inline constexpr NumberKey kCohereNumbers[] = {
    {"logit_scale", "logit_scale"},
};

inline constexpr NumberKey kGemmaNumbers[] = {
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};

}  // namespace foretoken::gguf_names
