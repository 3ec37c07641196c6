// The kernel table of the instruction set "scalar".
#define FT_V16_SCALAR
#include "backend/cpu/kernels.h"

#include "backend/cpu/gemm_codes.h"
#include "backend/cpu/gemm_fma.h"
#include "backend/cpu/op_kernels_body.h"
#include "backend/cpu/roof_probes.h"

namespace foretoken {

KernelTable scalar_kernels() {
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
