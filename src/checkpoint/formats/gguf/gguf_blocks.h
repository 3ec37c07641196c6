#pragma once
// The blocks of GGUF's types as floats, one function a type: `count` elements, of whole blocks.
// Used by the table of types (gguf_types.h) only. Each product and sum is rounded to float by
// itself, in the order of gguf-py. Pure functions.

#include <cstddef>
#include <cstdint>

namespace foretoken::gguf {

// Floats.
void from_f32(const std::byte* blocks, std::int64_t count, float* out);
void from_f16(const std::byte* blocks, std::int64_t count, float* out);
void from_bf16(const std::byte* blocks, std::int64_t count, float* out);

// Blocks of 32 with a scale, and a minimum where the name ends in 1.
void from_q4_0(const std::byte* blocks, std::int64_t count, float* out);
void from_q4_1(const std::byte* blocks, std::int64_t count, float* out);
void from_q5_0(const std::byte* blocks, std::int64_t count, float* out);
void from_q5_1(const std::byte* blocks, std::int64_t count, float* out);
void from_q8_0(const std::byte* blocks, std::int64_t count, float* out);

// Blocks of 256 whose groups have integer scales.
void from_q2_k(const std::byte* blocks, std::int64_t count, float* out);
void from_q3_k(const std::byte* blocks, std::int64_t count, float* out);
void from_q4_k(const std::byte* blocks, std::int64_t count, float* out);
void from_q5_k(const std::byte* blocks, std::int64_t count, float* out);
void from_q6_k(const std::byte* blocks, std::int64_t count, float* out);

// Codes of 4 bits that name one of 16 values.
void from_iq4_nl(const std::byte* blocks, std::int64_t count, float* out);
void from_iq4_xs(const std::byte* blocks, std::int64_t count, float* out);
// Floats of 4 bits, E2M1, with a power of two as scale.
void from_mxfp4(const std::byte* blocks, std::int64_t count, float* out);

}  // namespace foretoken::gguf
