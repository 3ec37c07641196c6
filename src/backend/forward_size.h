#pragma once
// The size of a forward, from which a backend plans its memory: nothing in the forward is larger.
// Plain data.

#include <cstdint>

#include "backend/attention_shape.h"
#include "backend/recurrent.h"

namespace foretoken {

struct ForwardSize {
  std::int64_t rows = 0;
  std::int64_t layers = 0;
  std::int64_t context = 0;       // positions that a row sees
  std::int64_t widest_input = 0;  // of a product
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;         // of the gated MLP
  std::int64_t chosen_experts = 0;       // of a row; 0: there are none
  std::int64_t expert_intermediate = 0;  // of the gated MLP of an expert
  std::int64_t vocab = 0;
  AttentionShape attention;
  std::int64_t head_input = 0;    // of a product of heads
  RecurrentShape recurrent = {};  // of layers that keep a state
  std::int64_t branch_nodes = 0;  // of trees: those that have children, at most
  int forwards = 1;               // of this size in a step, each with a plan of its own
};

}  // namespace foretoken
