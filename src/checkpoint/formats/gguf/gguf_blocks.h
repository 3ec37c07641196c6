#pragma once
// The blocks of GGUF's types as floats: `count` elements, of whole blocks. Used by the table of
// types (gguf_types.h) only. Each product and sum is rounded to float by itself, in the order of
// gguf-py. Pure functions.

#include <cstddef>
#include <cstdint>

#include "checkpoint/formats/gguf/gguf_types.h"

namespace foretoken::gguf {

void from_f32(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);
void from_f16(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);
void from_bf16(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);

// Of all types that gguf_codings.h knows, but for the next one.
void from_codes(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);
// Floats of 4 bits, E2M1, with a power of two as scale: its floats reach further than codes with
// scales of float16.
void from_mxfp4(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);

}  // namespace foretoken::gguf
