#pragma once
// Keys and values as codes of 8 bits: what a code stands for, and how a row (one token's key or
// value of one KV head) becomes codes and a scale. The definition that kernels are held against,
// and what the reference backend computes with; kernels have their own (cpu/kv_formats.h). Pure
// functions.

#include <cstdint>

#include "tensor/tensor.h"

namespace foretoken {

// int8, and the floats of 8 bits: rows of these types have scales beside them.
bool is_kv_code(DType dtype);

// The number that a code stands for, before its scale. Both kinds of floats are read as the upper
// bits of an fp16, so those of E4M3 (without infinities) count 2^-8 of what their standard says;
// their scales make up for it.
float kv_code_value(DType dtype, std::uint8_t code);
// The largest such number: 127, 1.75 or 57344. A row's farthest value lands on it.
float last_kv_code(DType dtype);

// Codes of `count` values; returns their scale. m = the greatest magnitude: below 2^-100 all codes
// and the scale are 0; where a value is not finite, codes are 0 and the scale is NaN; else code =
// the nearest to x * (last / m), ties to even, and scale = m / last, each operation in float32.
float round_kv_row(DType dtype, const float* x, std::int64_t count, std::uint8_t* codes);

}  // namespace foretoken
