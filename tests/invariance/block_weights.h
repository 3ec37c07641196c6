#pragma once
// The weights of a tiny model as a GGUF file has them: layers' matrices as blocks of several types,
// all else as it was. Matrices whose widths are no multiple of 256 have blocks of 32.

#include "invariance/tiny_models.h"

namespace foretoken {

std::unique_ptr<WeightSource> block_weights(const TinyModel& model);

}  // namespace foretoken
