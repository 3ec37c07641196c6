#pragma once
// Bulk conversion between float dtypes at load time, rounding to nearest even as tensor/float16.h
// does. Equal dtypes are copied bit by bit (denormals stay); float64 goes through float32.

#include <cstdint>

#include "tensor/tensor.h"

namespace foretoken {

// `count` elements from `from` to `to`. Source: any float dtype; target: kF32, kBF16 or kF16.
void convert(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t count);

}  // namespace foretoken
