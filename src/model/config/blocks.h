#pragma once
// Blocks: what the layers of a model are made of, as plain values. At its default a value changes
// nothing: the layer is that of Llama. Families fill them in from config.json; the decoder and draft
// heads build their layers from them. What a value computes, backend/ops.h says. Plain data.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/activation.h"
#include "backend/kv_shape.h"
#include "model/config/expert_blocks.h"
#include "model/config/recurrent_blocks.h"

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

// Latent attention: keys and values of all heads are made of one latent of a token; a part of the
// keys is the same for all heads, and rotated. kept: latent | rotated part.
//
//   x --> kv_a_proj --> [norm] latent --> kv_b_proj --> of each head: key | value
//   x --> [q_a_proj --> norm] --> q_b_proj or q_proj --> of each head: query | part that rotates
struct LatentBlocks {
  int kv_rank = 0;         // width of the latent; 0: layers have keys and values of their own
  int q_rank = 0;          // of what queries are made of; 0: of the input itself
  int key_dim = 0;         // of a head, without the part that rotates
  int rope_dim = 0;        // of that part
  int value_dim = 0;       // of a head
  float norm_eps = 1e-6F;  // of the norms of both latents
  bool pairs_neighbours = false;  // as Blocks::pairs_neighbours, but while they are rotated

  bool is_on() const { return kv_rank > 0; }
  int query_dim() const { return key_dim + rope_dim; }
};

// What layers read of the token itself, beside the stream: of each layer `width` elements, of an
// embedding of all of them and of the stream's own.
//
//   x = (embedding * sqrt(width) + norm(projection(stream / sqrt(hidden)))) / sqrt(2)
//   stream --> + norm(up(act(gate(stream)) * x of the layer)) --> stream       behind the MLP
struct InputBlocks {
  int width = 0;  // 0: layers read the stream only

  bool is_on() const { return width > 0; }
};

// A part of a tensor's name in the checkpoint, and what others call it.
struct Rename {
  std::string_view stored, usual;
};

struct Blocks {
  std::span<const Rename> renames = {};  // the first that a name has is done
  // ---- layers without attention
  RecurrentBlocks recurrent = {};
  // ---- attention
  LatentBlocks latent = {};  // where it is on, biases are those of the products to latents
  bool qkv_bias = false;
  bool o_bias = false;
  bool qk_norm = false;  // an RMS norm of each head of q and k, before the rotation
  // One without weights, of layers that rotate: as much before the rotation as behind it.
  bool norms_rotated = false;
  bool qk_norm_behind = false;  // an RMS norm of each head of q and k, behind the rotation
  bool whole_qk_norm = false;   // one of all heads of q, and one of all of k, instead
  bool is_qkv_fused = false;    // the checkpoint holds q, k and v as one matrix, qkv_proj
  bool v_norm = false;          // an RMS norm of each head of v, without weights
  bool has_sinks = false;       // a score of each head that no position has
  // Behind the rows of each head of q_proj come those of a gate: what the head makes is multiplied
  // by its sigmoid.
  bool has_output_gate = false;
  double score_scale = 0;  // of q.k; 0: 1 / sqrt(head_dim), or of the latent's query_dim
  double score_cap = 0;    // 0: none
  int rotary_dim = 0;      // elements of a head that are rotated; 0: all
  // Elements 2i and 2i + 1 of a head are rotated together, not those that are half of what is
  // rotated apart: rows of q and k are put in the other order while they are loaded.
  bool pairs_neighbours = false;
  double local_rope_theta = 0;
  bool has_rope_alpha = false;     // dynamic scaling with an "alpha" is a larger theta
  bool has_rope_sections = false;  // of images; the positions of text are the same in all
  // Scores grow with the position p of their query:
  // by 1 + growth * ln(1 + floor((p + offset) / length)).
  double score_growth = 0;
  std::int64_t score_growth_length = 0, score_growth_offset = 0;
  bool grows_unrotated = false;        // in layers without rotation only
  std::vector<int> layer_window = {};  // sliding window per layer, 0: none; empty: no layer has one
  // Positions of a chunk per layer, of which a row sees its own chunk's, 0: all; empty: all in all.
  std::vector<int> layer_chunk = {};
  std::vector<LayerRope> layer_rope = {};  // empty: kMain everywhere
  std::vector<KvHeads> layer_heads = {};   // empty: those of the model
  // Layers whose values are their keys, as they are before norm and rotation: they have no v_proj.
  std::vector<bool> values_are_keys = {};  // empty: none
  // The layer whose keys and values a layer reads: of another one it makes queries only. Those that
  // have their own come first. Empty: each has its own.
  std::vector<int> layer_kv = {};

  // ---- MLP
  Activation activation = Activation::kSilu;
  std::vector<int> layer_intermediate = {};  // width of the MLP; empty: that of the model
  bool mlp_bias = false;
  bool is_gate_up_fused = false;  // the checkpoint holds both as one matrix, gate_up_proj
  ExpertBlocks experts = {};      // that stand for the MLP in some layers or all

  // ---- the stream
  InputBlocks inputs = {};
  // The stream that leaves a layer is multiplied by a number of the checkpoint.
  bool has_layer_scale = false;
  LayerNorms norms = {};
  // Norms of the stream are layer norms without biases: they take its mean away before.
  bool centres_stream = false;
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
  int chunk(int layer) const {
    return layer_chunk.empty() ? 0 : layer_chunk[static_cast<std::size_t>(layer)];
  }
  LayerRope rope_of(int layer) const {
    return layer_rope.empty() ? LayerRope::kMain : layer_rope[static_cast<std::size_t>(layer)];
  }
  int kv_of(int layer) const {
    return layer_kv.empty() ? layer : layer_kv[static_cast<std::size_t>(layer)];
  }
  bool has_values(int layer) const {
    return values_are_keys.empty() || !values_are_keys[static_cast<std::size_t>(layer)];
  }
};

}  // namespace foretoken
