#pragma once
// The weights of a tiny model as a checkpoint of 8-bit floats in blocks has them: layers' matrices
// as E4M3 with scales of blocks of 32 x 32, all else as it was.

#include "checkpoint/quantized/stored_quantization.h"
#include "invariance/tiny_models.h"

namespace foretoken {

std::unique_ptr<WeightSource> float8_weights(const TinyModel& model);

// What its config.json would say.
StoredQuantization float8_blocks();

}  // namespace foretoken
