#pragma once
// The input of a product as VDPBF16PS reads it. For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

// x rounded to bf16, row-major.
inline void pack_x_bf16(const PackXCall& call) {
  const std::int64_t padded = round_up(call.k, kBlockK);
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    std::uint16_t* to = static_cast<std::uint16_t*>(call.packed) + row * call.x_stride;
    std::int64_t i = 0;
    for (; i + 16 <= call.k; i += 16) store_bf16(to + i, load(from + i));
    for (; i < padded; i += 16) {
      const std::int64_t n = call.k - i;
      store_bf16(to + i, n > 0 ? load_n(from + i, static_cast<int>(n)) : zero());
    }
  }
}

}  // namespace
}  // namespace foretoken
