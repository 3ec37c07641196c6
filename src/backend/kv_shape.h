#pragma once
// Keys and values of one model, or the states that some layers keep instead: their shape, and the
// memory of a layer as its backend lays it out.
// Not the pages (kv/page_pool.h), not the codes (kv_codes.h). Plain data.

#include <cstddef>
#include <vector>

#include "backend/recurrent.h"
#include "batch/tree.h"
#include "tensor/tensor.h"

namespace foretoken {

// The heads of keys and values in a layer.
struct KvHeads {
  int count = 0, dim = 0;

  bool operator==(const KvHeads&) const = default;
};

struct KvShape {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  DType dtype = DType::kBF16;  // or another float, or codes of 8 bits
  bool has_values = true;      // false: they are parts of keys (AttentionShape::value_dim)
  std::vector<KvHeads> layer_heads = {};  // by layer; empty: kv_heads of head_dim in all of them
  // Layers that keep a state instead, by layer; empty: there are none.
  std::vector<bool> keeps_state = {};
  RecurrentShape recurrent = {};
  int slots = 1;                   // sequences whose states are kept at a time
  int tree_nodes = kMaxTreeNodes;  // of one of them
  int snapshots = 0;               // states kept of texts, for requests that continue them

  KvHeads heads_of(int layer) const {
    return layer_heads.empty() ? KvHeads{kv_heads, head_dim}
                               : layer_heads[static_cast<std::size_t>(layer)];
  }
  bool keeps_state_of(int layer) const {
    return !keeps_state.empty() && keeps_state[static_cast<std::size_t>(layer)];
  }
};

// KV of one layer. Only the backend that allocated it looks inside. Codes of 8 bits (kv_codes.h)
// have a float32 scale for each token and KV head.
struct KvLayer {
  Tensor k;
  Tensor v;             // empty, as is v_scale: values are parts of keys
  Tensor k_scale = {};  // empty: k and v are floats
  Tensor v_scale = {};
  // Of the layer, not of the KV: float32 [heads], empty where there are none. Each query head sees
  // one position more, whose score is its sink and whose value is 0.
  Tensor sinks = {};
  StateLayer states = {};  // in place of all that
};

}  // namespace foretoken
