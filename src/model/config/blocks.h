#pragma once
// Blocks: what the layers of a model are made of, as plain values. At its default a value changes
// nothing: the layer is that of Llama. Families fill them in from config.json, the decoder and draft
// heads build their layers from them. Plain data.

#include <vector>

namespace foretoken {

struct Blocks {
  // ---- attention
  bool qkv_bias = false;
  bool o_bias = false;
  bool qk_norm = false;                // an RMS norm of each head of q and k, before the rotation
  std::vector<int> layer_window = {};  // sliding window per layer, 0: none; empty: no layer has one

  // ---- MLP
  bool mlp_bias = false;
};

}  // namespace foretoken
