#pragma once
// What forwards take from the scratch of a step, as upper bounds in bytes, so that memory can be
// shared out before anything runs. Pure functions of a model's sizes.

#include <cstddef>
#include <cstdint>

#include "backend/forward_size.h"
#include "backend/kv_shape.h"
#include "model/config/model_config.h"

namespace foretoken {

// So many rows of float32, in so many tensors.
std::size_t rows_bytes(std::int64_t rows, std::int64_t width, int tensors = 1);

// The widest that a layer's first half leaves for its second one.
std::int64_t query_width(const ModelConfig& config);

// The scratch of one layer: LayerScratch, and that of the tail of the last layer.
std::size_t layer_bytes(const ModelConfig& config, std::int64_t rows);

// What is kept of a model's tokens; dtype: where the config names none for it.
KvShape kv_shape_of(const ModelConfig& config, DType dtype);

// Decoder::forward with so many taps.
std::size_t decoder_bytes(const ModelConfig& config, std::int64_t rows, std::size_t taps);
ForwardSize decoder_size(const ModelConfig& config, std::int64_t rows);

}  // namespace foretoken
