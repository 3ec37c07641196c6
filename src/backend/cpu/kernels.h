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

// bf16 weights: blocks of kBlockCols outputs, K padded with zeros to kBlockK, inside a block
// [K/32][2 halves][16 k-pairs][16 columns][2]. fp16 and float32 weights: blocks [K][16 columns].
// All outputs are padded with zeros to kBlockCols.
inline constexpr int kBlockCols = 32;
inline constexpr int kBlockK = 32;
inline constexpr int kChainBlockCols = 16;

// At most kMaxCallCols outputs of y = x * W^T + bias, for some rows.
inline constexpr int kMaxCallCols = 64;
struct GemmCall {
  const void* weights;       // the first block
  std::int64_t block_bytes;  // from block to block
  std::int64_t k;            // as packed: padded for bf16, true for fp16 and float32
  const void* x;             // the first row, as pack_x wrote it
  std::int64_t x_stride;     // elements from row to row
  float* y;                  // the first row, at the first column of the first block
  std::int64_t y_stride;     // elements from row to row
  const float* bias;         // of the first column, readable to the end of the last block; or null
  int rows;                  // <= GemmKernels::max_rows
  int cols;                  // outputs that exist; the last block may be partial
};

// The activations of a GEMM on their way into the form that a kernel reads.
struct PackXCall {
  const float* x;         // [.., k] the first row
  std::int64_t k;         // true
  void* packed;           // the first row; K padded with zeros, rows padded to row_step
  std::int64_t x_stride;  // elements of packed x from row to row, a multiple of row_step rows apart
  int rows;
};

struct GemmKernels {
  void (*pack_x)(const PackXCall& call);  // null: the kernel reads x itself
  void (*run)(const GemmCall& call);
  double (*peak)(int rounds);  // run's arithmetic on registers alone; returns its FLOPs
  int x_bytes;                 // per element of packed x
  int x_row_extra;             // elements beyond the padded K, so that rows do not share cache sets
  int row_step;                // calls begin at multiples of this
  int max_rows;                // of one call
};

struct KernelTable {
  GemmKernels bf16_tile;
  GemmKernels bf16_pair;
  GemmKernels f16;  // fp16 and float32 weights: one FMA chain per output in ascending k
  GemmKernels f32;
  OpKernels ops;
  void (*read)(const void* data, std::int64_t bytes);  // streams over memory, a multiple of 1 KB
};

// One per translation unit; callable only where the machine has the instruction set.
KernelTable scalar_kernels();
KernelTable avx2_kernels();
KernelTable avx512_kernels();
GemmKernels avx512_bf16_pair_gemm();
GemmKernels amx_tile_gemm();

}  // namespace foretoken
