#pragma once
// What the tensors of a draft head say about it. Its config is often copied from the target's or
// says nothing, so where names are known they decide: which biases and norms there are, how many
// layers, whether the output matrix is its own. Of made-up weights the config decides.

#include "checkpoint/checkpoint.h"
#include "model/heads/head_config.h"

namespace foretoken {

// weights: of a head in a folder of its own, with the names of head_weights(). Throws Error where
// the head has no output matrix, or one that does not fit the target's vocabulary.
void fit_to_tensors(HeadConfig& head, const WeightSource& weights);

// A config copied from a quantized target says how the target's matrices are kept. Throws what
// could not be read of it where the head has tensors that are no floats, vocabulary maps apart.
void check_quantization(const HeadConfig& head, const WeightSource& weights);

}  // namespace foretoken
