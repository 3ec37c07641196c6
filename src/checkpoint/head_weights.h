#pragma once
// The tensor names of draft heads. Published checkpoints differ: with or without "model." in front,
// "midlayer." or "layers.0.", old names of the norms of the taps. Behind this source all have the
// names that HeadConfig uses. Not a check of shapes.

#include <memory>

#include "checkpoint/checkpoint.h"

namespace foretoken {

// Throws Error when two tensors of the checkpoint mean the same.
std::unique_ptr<WeightSource> head_weights(std::unique_ptr<WeightSource> source);

}  // namespace foretoken
