#pragma once
// What is in a block of a GGUF type: where its codes, scales and minima lie, and how weights are
// made of them (backend/weight_format.h). The one place that knows the bits of blocks: floats
// (gguf_blocks.h) and weights at their own bits (quantized/gguf_codes.h) are made of what it reads.
// A table and pure functions.

#include <cstddef>
#include <cstdint>

#include "backend/weight_format.h"
#include "checkpoint/formats/gguf/gguf_types.h"

namespace foretoken {

// Where the parts of a block go.
struct GgufBlockParts {
  std::uint8_t* codes;                     // one for each element
  float *scale, *minimum;                  // minimum null where the format has none
  std::int8_t *multiples, *min_multiples;  // one for each group, as BlockRow has them
};

struct GgufCoding {
  GgufType type;
  WeightFormat format;
  // Throws Error where a scale does not fit float16.
  void (*read)(const std::byte* block, const GgufBlockParts& to);
};

// Null: elements of the type are floats, or it is not read.
const GgufCoding* gguf_coding(GgufType type);

}  // namespace foretoken
