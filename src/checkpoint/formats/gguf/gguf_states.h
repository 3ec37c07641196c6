#pragma once
// What GGUF files of families whose layers partly keep a state call their tensors, and what their
// keys say of the layers, for the rows of gguf_architectures.cc. Stateless.
//
// Some things lie there as safetensors never have them. Then a key of our own says so:
//
//   "linear_inputs_in_turn"   queries, keys and values of all heads follow each other
//   "linear_heads_in_turn"    value head h reads key head h mod the number of key heads
//   "is_shared_mlp_fused"     false: gate and up are two matrices

#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_names.h"

namespace foretoken {

inline constexpr auto kGgufDeltaNames = gguf_names::joined(
    {
        {"post_attention_norm", "post_attention_layernorm"},
        {"attn_qkv", "linear_attn.in_proj_qkv"},
        {"attn_gate", "linear_attn.in_proj_z"},
        {"ssm_in", "linear_attn.in_proj_qkvz"},
        {"ssm_ba", "linear_attn.in_proj_ba"},
        {"ssm_alpha", "linear_attn.in_proj_a"},
        {"ssm_beta", "linear_attn.in_proj_b"},
        {"ssm_conv1d", "linear_attn.conv1d"},
        {"ssm_dt", "linear_attn.dt_bias"},
        {"ssm_a", "linear_attn.rate"},
        {"ssm_norm", "linear_attn.norm"},
        {"ssm_out", "linear_attn.out_proj"},
    },
    gguf_names::kQwen2MoeNames);

inline constexpr GgufArchitecture::LayerName kGgufConvolutionNames[] = {
    {"shortconv.conv", "conv.conv"},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.out_proj", "conv.out_proj"},
    {"ffn_gate_inp", "feed_forward.gate"},
    {"ffn_gate_exps", "feed_forward.experts.*.w1"},
    {"ffn_up_exps", "feed_forward.experts.*.w3"},
    {"ffn_down_exps", "feed_forward.experts.*.w2"},
    {"exp_probs_b", "feed_forward.expert_bias"},
};

inline constexpr GgufArchitecture::LayerName kGgufMambaNames[] = {
    {"ssm_in", "mamba.in_proj"},
    {"ssm_conv1d", "mamba.conv1d"},
    {"ssm_dt", "mamba.dt_bias"},
    {"ssm_a", "mamba.rate"},
    {"ssm_d", "mamba.D"},
    {"ssm_norm", "mamba.norm"},
    {"ssm_out", "mamba.out_proj"},
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_exps", "block_sparse_moe.experts.*.gate_proj"},
    {"ffn_up_exps", "block_sparse_moe.experts.*.up_proj"},
    {"ffn_down_exps", "block_sparse_moe.experts.*.down_proj"},
    {"ffn_gate_shexp", "block_sparse_moe.shared_experts.gate_proj"},
    {"ffn_up_shexp", "block_sparse_moe.shared_experts.up_proj"},
    {"ffn_down_shexp", "block_sparse_moe.shared_experts.down_proj"},
};

void add_gguf_qwen3_next(const GgufModel& model, boost::json::object& config);
void add_gguf_qwen3_5(const GgufModel& model, boost::json::object& config);
void add_gguf_lfm2(const GgufModel& model, boost::json::object& config);
void add_gguf_lfm2_moe(const GgufModel& model, boost::json::object& config);
void add_gguf_granite_hybrid(const GgufModel& model, boost::json::object& config);

}  // namespace foretoken
