#pragma once
// The smallest real decoder that has all there is: groups of heads, more than one layer. With
// made-up weights (dummy_weights) it talks nonsense, in steps of microseconds. For tests only.

#include <cstdint>

#include "model/config/model_config.h"

namespace foretoken {

inline ModelConfig tiny_model(std::int64_t vocab, std::int64_t context_length) {
  ModelConfig config;
  config.layers = 2;
  config.hidden = 64;
  config.intermediate = 96;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.vocab = vocab;
  config.max_position = config.context_length = context_length;
  return config;
}

}  // namespace foretoken
