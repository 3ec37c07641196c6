#pragma once
// StoredFormat: how one matrix of a checkpoint that is quantized already keeps its codes. Plain
// data. Which matrix has which, StoredQuantization says; the tensors themselves: stored_codes.h.

#include <cstdint>

namespace foretoken {

struct StoredFormat {
  enum class Kind {
    kAwq,     // qweight [k, n / 8], qzeros, scales [groups, n]
    kGptq,    // qweight [k / 8, n], qzeros, scales [groups, n], g_idx [k]
    kPacked,  // weight_packed [n, k / 8], weight_scale [n, groups]
    kInt8,    // weight [n, k] int8, weight_scale [n, 1] or one
    kFp8,     // weight [n, k] of 8-bit floats, weight_scale [n, 1] or one, or weight_scale_inv of
              // blocks
  };
  Kind kind = Kind::kAwq;
  int bits = 4;                     // 8 or 4
  std::int64_t group = 0;           // k that share a scale; 0: all
  bool is_symmetric = true;         // there are no zero points
  bool has_g_idx = false;           // k belong to groups as g_idx says, not in their order
  bool zeros_are_less_one = false;  // GPTQ's first format stores zero points less 1
  bool rounds_input = false;        // activations to 8 bits per row
  std::int64_t block_rows = 0, block_columns = 0;  // of kFp8; 0: none

  bool operator==(const StoredFormat&) const = default;
};

}  // namespace foretoken
