#pragma once
// The kernel table of instruction sets whose products are fused multiply-adds of V16. For
// translation units of kernels only (v16.h): each makes a table of its own instructions.

#include "backend/cpu/table/kernels.h"

#include "backend/cpu/isa/op_kernels_body.h"
#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"
#include "backend/cpu/matmul/kernels/fma_bf16.h"
#include "backend/cpu/matmul/kernels/roof_probes.h"

namespace foretoken {
namespace {

KernelTable fma_kernels() {
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

}  // namespace
}  // namespace foretoken
