// The kernel table of the instruction set "scalar".
#define FT_V16_SCALAR
#include "backend/cpu/kernels.h"

#include "backend/cpu/gemm_fma.h"
#include "backend/cpu/op_kernels_body.h"

namespace foretoken {

KernelTable scalar_kernels() {
  return {.bf16_tile = tile_order_gemm(),
          .bf16_pair = pair_order_gemm(),
          .f16 = f16_gemm(),
          .f32 = f32_gemm(),
          .ops = op_kernels()};
}

}  // namespace foretoken
