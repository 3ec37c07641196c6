#pragma once
// Blocks: what the layers of a model are made of, as plain values. At its default a value changes
// nothing: the layer is that of Llama. Families fill them in from config.json; the decoder and draft
// heads build their layers from them. What a value computes, backend/ops.h says. Plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/activation.h"

namespace foretoken {

// The rotary settings of a layer: those of the model, those with local_rope_theta, or no rotation.
enum class LayerRope : std::uint8_t { kMain, kLocal, kNone };

// The norms of a layer by what they are called in the checkpoint; empty: there is none.
//   stream --> [before_attention] --> attention --> [after_attention] --> + --> stream
//   stream --> [before_mlp]       --> MLP       --> [after_mlp]       --> + --> stream
struct LayerNorms {
  std::string before_attention = "input_layernorm";
  std::string after_attention = {};
  std::string before_mlp = "post_attention_layernorm";
  std::string after_mlp = {};
};

struct Blocks {
  // ---- attention
  bool qkv_bias = false;
  bool o_bias = false;
  bool qk_norm = false;       // an RMS norm of each head of q and k, before the rotation
  bool is_qkv_fused = false;  // the checkpoint holds q, k and v as one matrix, qkv_proj
  bool has_sinks = false;     // a score of each head that no position has
  double score_scale = 0;     // of q.k; 0: 1 / sqrt(head_dim)
  double score_cap = 0;       // 0: none
  int rotary_dim = 0;         // elements of a head that are rotated; 0: all
  double local_rope_theta = 0;
  std::vector<int> layer_window = {};  // sliding window per layer, 0: none; empty: no layer has one
  std::vector<LayerRope> layer_rope = {};  // empty: kMain everywhere

  // ---- MLP
  Activation activation = Activation::kSilu;
  bool mlp_bias = false;
  bool is_gate_up_fused = false;  // the checkpoint holds both as one matrix, gate_up_proj

  // ---- the stream
  LayerNorms norms = {};
  float norm_offset = 0;  // of the weights of all RMS norms: 1 where the stored ones are 0 around
  bool is_parallel = false;  // the MLP reads what attention reads, and before_mlp is empty
  double embedding_scale = 1;
  bool rounds_embedding_scale = false;  // to the type of the weights
  float residual_scale = 1;             // of what attention and MLP add to the stream
  float logit_scale = 1;
  float logit_cap = 0;  // after the scale; 0: none

  int window(int layer) const {
    return layer_window.empty() ? 0 : layer_window[static_cast<std::size_t>(layer)];
  }
  LayerRope rope_of(int layer) const {
    return layer_rope.empty() ? LayerRope::kMain : layer_rope[static_cast<std::size_t>(layer)];
  }
};

}  // namespace foretoken
