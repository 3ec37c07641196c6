#pragma once
// Weights of a model that rotates neighbours (Blocks::pairs_neighbours), as of one that rotates
// elements half of what is rotated apart: rows of q and k, and their biases, are reordered in each
// head. Scores are sums over a head, so that they are the same. Not for codes of quantized
// checkpoints: those are refused.

#include <memory>

#include "checkpoint/checkpoint.h"
#include "model/config/model_config.h"

namespace foretoken {

// Throws Error where matrices are codes that cannot be reordered.
std::unique_ptr<WeightSource> halved_pairs(std::unique_ptr<WeightSource> source,
                                           const ModelConfig& config);

}  // namespace foretoken
