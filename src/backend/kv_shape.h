#pragma once
// Keys and values of one model: their shape, and the memory of a layer as its backend lays it out.
// Not the pages (kv/page_pool.h), not the codes (kv_codes.h). Plain data.

#include "tensor/tensor.h"

namespace foretoken {

struct KvShape {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  DType dtype = DType::kBF16;  // or another float, or codes of 8 bits
};

// KV of one layer. Only the backend that allocated it looks inside. Codes of 8 bits (kv_codes.h)
// have a float32 scale for each token and KV head.
struct KvLayer {
  Tensor k;
  Tensor v;
  Tensor k_scale = {};  // empty: k and v are floats
  Tensor v_scale = {};
  // Of the layer, not of the KV: float32 [heads], empty where there are none. Each query head sees
  // one position more, whose score is its sink and whose value is 0.
  Tensor sinks = {};
};

}  // namespace foretoken
