// The kernel table of the instruction set "neon".
#define FT_V16_NEON
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/isa/op_kernels_body.h"
#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"
#include "backend/cpu/matmul/kernels/fma_bf16.h"
#include "backend/cpu/matmul/kernels/roof_probes.h"

namespace foretoken {

KernelTable neon_kernels() {
  return {.bf16_tile = bf16_gemm<TileOrder, CodedTileOrder>(),
          .bf16_pair = bf16_gemm<PairOrder, CodedPairOrder>(),
          .f16 = chain_gemm<2>(),
          .f32 = chain_gemm<4>(),
          .codes = code_gemm(),
          .codes_row8 = code_gemm(),
          .widen = widen_blocks,
          .ops = op_kernels(),
          .read = read_streams};
}

}  // namespace foretoken
