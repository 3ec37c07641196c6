#pragma once
// The table of CPU kernels: one per instruction set, chosen once at start. Its entries are plain
// function pointers into translation units compiled with that set's own flags.
// Included by those units, hence plain structs and no inline functions: an inline function compiled
// with AVX-512 could be the copy that the linker keeps for everybody.
// Kernels know neither threads nor memory: callers hand them disjoint outputs. They expect FTZ and
// DAZ to be set (ThreadPool does it).

#include <cstdint>

#include "backend/cpu/op_kernels.h"

namespace foretoken {

// Packed weights come in blocks of kBlockCols outputs; K is padded with zeros to kBlockK.
inline constexpr int kBlockCols = 32;
inline constexpr int kBlockK = 32;

// Some whole blocks of outputs of y = x * W^T + bias, for some rows.
struct GemmCall {
  const void* weights;       // the first block; blocks are block_bytes apart
  std::int64_t block_bytes;
  std::int64_t k;            // K as the kernel walks it: padded for bf16, true for fp16 and float32
  const void* x;             // the first row as `pack_x` wrote it
  std::int64_t x_stride;     // elements from row to row
  float* y;                  // the first row, at the first column of the first block
  std::int64_t y_stride;     // elements from row to row
  const float* bias;         // of the first column, readable to the end of the last block; or null
  int rows;                  // the caller starts at a multiple of GemmKernels::row_step
  int cols;                  // outputs that exist; the last block may be partial
};

struct GemmKernels {
  // Writes rows [first, first + count) of x [rows, k] f32 as the kernel reads them, K padded with
  // zeros. Null: the kernel reads x itself.
  void (*pack_x)(const float* x, std::int64_t k, void* packed, std::int64_t x_stride, int first,
                 int count);
  void (*run)(const GemmCall& call);
  int x_bytes;     // per element of packed x
  int row_step;    // rows are handed out in multiples of this, packed x is padded to it
  int max_rows;    // of one call
};

struct KernelTable {
  GemmKernels bf16_tile;
  GemmKernels bf16_pair;
  GemmKernels f16;  // fp16 and float32 weights: one FMA chain per output in ascending k
  GemmKernels f32;
  OpKernels ops;
};

// One per translation unit; callable only where the machine has the instruction set.
KernelTable scalar_kernels();
KernelTable avx2_kernels();
KernelTable avx512_kernels();
GemmKernels avx512_bf16_pair_gemm();
GemmKernels amx_tile_gemm();

}  // namespace foretoken
