#pragma once
// Weights of a model that rotates neighbours (Blocks::pairs_neighbours), as of one that rotates
// elements half of what is rotated apart: rows of q and k, and their biases, are reordered in each
// head. Scores are sums over a head, so that they are the same. Codes of quantized checkpoints are
// reordered by who takes them apart, of which this is an OrderedRows.

#include <memory>

#include "checkpoint/checkpoint.h"
#include "model/config/model_config.h"

namespace foretoken {

std::unique_ptr<WeightSource> halved_pairs(std::unique_ptr<WeightSource> source,
                                           const ModelConfig& config);

}  // namespace foretoken
