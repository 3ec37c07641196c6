#pragma once
// The table of CPU kernels: one per instruction set, chosen once at start. Its entries are plain
// function pointers into translation units compiled with that set's own flags.
// Included by those units, hence plain structs and no inline functions: an inline function compiled
// with AVX-512 could be the copy that the linker keeps for everybody.
// Kernels know neither threads nor memory: callers hand them disjoint outputs. They expect
// denormals to be flushed (ThreadPool does it).

#include <cstdint>

#include "backend/cpu/table/op_kernels.h"
#include "backend/listed_codes.h"

namespace foretoken {

// How weights lie in memory. Outputs are divided into blocks, the last of which is padded with
// zeros; o0, o1 .. are the outputs of a block.
//
// bf16: blocks of kBlockCols outputs, K padded with zeros to kBlockK. A block is
// [K/32][2 halves][16 lines of 64 bytes]; the second half has outputs 16 to 31. Line p of a half:
//
//   | o0: k = 2p, 2p + 1 | o1: 2p, 2p + 1 | .. | o15: 2p, 2p + 1 |
//
// fp16 and float32: blocks [K][kChainBlockCols outputs].
inline constexpr int kBlockCols = 32;
inline constexpr int kBlockK = 32;
inline constexpr int kChainBlockCols = 16;
inline constexpr int kSuperK = 256;  // of blocks whose groups share a scale (WeightFormat::super)

// Codes (backend/weight_format.h): blocks of kBlockCols outputs, K padded to whole groups, a group
// of one scale a row to kCodeStepK. A block is a unit for each group:
//
//   | codes | kBlockCols scales | kBlockCols zero points (int16), if there are any | to 64 bytes |
//
// The codes of a unit, in lines of 64 bytes:
//
//   kDots    for dot products and for widening in registers. [k/step][2 halves][lines], step =
//            kCodeStepK or, where the group is no multiple of it, half of that
//     8 bits   4 k of 16 outputs, unsigned
//              | o0: k0 k1 k2 k3 | o1: k0 k1 k2 k3 | .. | o15 |
//     4 bits   8 k of 16 outputs, the first four in the low halves of bytes
//              | o0: k4,k0 k5,k1 k6,k2 k7,k3 | o1 | .. | o15 |
//
//   kTiles   for tile registers, of codes that keep their input
//     4 bits   [k/32][8 lines]: 32 k of four outputs, a word of 16 bits for each k
//              | k0: o3,o2,o1,o0 | k1: o3,o2,o1,o0 | .. | k31 |
//     8 bits   [k/32][2 halves][16 rows of 32 bytes], as bf16: row p of a half is
//              | o0: k = 2p, 2p + 1 | o1: 2p, 2p + 1 | .. | o15 |
//              integers less 128; E4M3 as they are
//
//   kTable   for tile registers, of E4M3 where the step is kCodeStepK: [k/64][32 outputs], a line
//            is 64 k of one output
//              | k0..7 | k32..39 | k8..15 | k40..47 | k16..23 | k48..55 | k24..31 | k56..63 |
// Blocks (WeightFormat::is_blocked): a block is a piece for each super, or for each 32 k:
//
//   | 32 scales (float16) | 32 minima (float16), if any | units |
//
// A unit is 32 k; its two halves of 16 outputs follow each other. Codes lie in planes of bits, the
// low ones first. A quad is four k of 16 outputs, as a line of 8 bits has them:
//
//   plane of 4 bits   4 lines; line l has quad 2 l in the low halves of bytes, 2 l + 1 in the high
//   plane of 2 bits   2 lines; line l has quads 4 l .. 4 l + 3 from the low bits on
//   plane of 1 bit    1 line with quads 0 .. 7 from the low bits on
//
//   2: 2 | 3: 2, 1 | 4: 4 | 5: 4, 1 | 6: 4, 2
//
// Behind them, where there is a super, for each group 32 multiples of the scale (int8), then for
// each group those of the minimum; of 2 bits both in the halves of a byte, that of the scale low.
enum class Layout : std::uint8_t { kDots, kTiles, kTable };
struct BlockLayout {
  int piece_units;  // 0: the codes are not blocked
  int unit_bytes, piece_bytes;
  int half_bytes;        // codes of a unit's half
  int multiples_at;      // in a unit; 0: none
  int min_multiples_at;  // in a unit; 0: none. multiples_at: in the same bytes
  bool has_minima;
  CodeList list;
};
inline constexpr int kCodeStepK = 64;
inline constexpr int kMostTileGroup = 256;  // k that products of 4 bits by tiles take
enum class CodeScale : std::uint8_t { kF32, kBF16, kF16 };
struct CodeLayout {
  int bits;    // 8 or 4
  int group;   // k of a unit, padded
  int groups;  // units of a block
  int step;    // k between which the halves alternate
  int unit_bytes;
  int scales_at;  // bytes from the unit's start
  int zeros_at;   // 0: there are none, the middle of the codes stands for 0
  CodeScale scale;
  bool is_float;  // codes of 8 bits are E4M3 and stand for themselves
  Layout layout = Layout::kDots;
  BlockLayout blocks = {};
};

// At most kMaxCallCols outputs of y = x * W^T + bias, for some rows.
inline constexpr int kMaxCallCols = 64;
struct GemmCall {
  const void* weights = nullptr;  // the first block
  std::int64_t block_bytes = 0;   // from block to block
  std::int64_t k = 0;             // as packed: padded for bf16, true for fp16 and float32
  const void* x;                  // the first row, as pack_x wrote it
  std::int64_t x_stride;          // elements from row to row
  float* y;                       // the first row, at the first column of the first block
  std::int64_t y_stride;          // elements from row to row
  const float* bias =
      nullptr;             // of the first column, readable to the end of the last block; or null
  int rows;                // <= GemmKernels::max_rows
  int cols;                // outputs that exist; the last block may be partial
  int tile_rows = 16;      // of packed x, see GemmKernels
  int step_k = 0;          // the loop over K pauses after this many, a multiple of kBlockK
  int prefetch_bytes = 0;  // weights are asked for so far ahead; both 0: as the kernel likes
  CodeLayout codes = {};   // of the weights, where they are codes
  float* sums = nullptr;   // for GemmKernels::sum: aligned, wide_sums(rows, cols) of them
};

// Outputs that GemmKernels::take reads from the sums of a call.
struct GemmOutputs {
  int first_row, rows;  // from a multiple of row_step on
  int col, cols;        // of the call, from a block on
  const float* bias;    // of the first column, or null
  float* y;             // the first of them
  std::int64_t y_stride;
};

inline constexpr int kWideRows = 512, kWideCols = 512;  // of a call of GemmKernels::sum, at most

// The activations of a GEMM on their way into the form that a kernel reads. For weights of codes
// that is a row of [packed_k] signed codes, then for each group a float scale, then for each group
// what sums of its products begin with (int32): the sum of its codes times -zero. Of blocks with a
// super it is the codes and a scale for each 32 k. Then, where there are minima, a scale for each super
// and a number of 16 bits for each group of weights, which together are what minima are multiplied
// with; else for each such group what the sum begins with.
struct PackXCall {
  const float* x;         // [.., k] the first row
  std::int64_t k;         // true
  void* packed;           // the first row; K padded with zeros, room for rows up to row_step
  std::int64_t x_stride;  // elements of packed x from row to row, a multiple of row_step rows apart
  int rows;
  int tile_rows = 16;                          // see GemmKernels
  std::int64_t packed_k = 0;                   // for codes: their K, padded
  std::int64_t group = 0;                      // for codes: the k of a scale of the weights, padded
  bool has_super = false, has_minima = false;  // for blocks
  int zero = 0;  // for codes: the weight's code that stands for 0; 1 where each group has its own
};

// Blocks of weights of codes as the blocks of bf16 weights that they stand for.
struct WidenCall {
  const void* weights;  // the first block
  std::int64_t block_bytes;
  CodeLayout codes;
  void* out;
  std::int64_t out_block_bytes;
  int blocks;
};

struct GemmKernels {
  void (*pack_x)(const PackXCall& call);  // null: the kernel reads x itself
  void (*run)(const GemmCall& call);
  double (*peak)(int rounds);  // run's arithmetic on registers alone; returns its FLOPs
  int x_bytes;                 // per element of packed x
  int x_row_extra;             // elements beyond the padded K, so that rows do not share cache sets
  int row_step;                // calls begin at multiples of this, and x is packed in tiles of them
  int max_rows;                // of one call
  int x_row_place = kBlockK;   // elements between rows of one tile, where row_step is not 1
  // Of many rows sums of more columns stay in the worker's memory until K is done, and outputs are
  // taken from there in pieces. Both null where that does not pay.
  void (*sum)(const GemmCall& call) = nullptr;
  void (*take)(const GemmCall& call, const GemmOutputs& outputs) = nullptr;
  int wide_rows = 0;       // from so many rows on
  int prefetch_bytes = 0;  // of a call that names none; 0: as the kernel likes
  // The same product of weights of codes that stand for bf16 (widen), for up to so many rows, where
  // codes have exact shifts. Null where blocks are better widened first.
  void (*run_codes)(const GemmCall& call) = nullptr;
  int code_rows = 0;

  // Of a product of fewer rows a tile of x has only those, so that they stay in L1.
  int tile_rows(int rows) const { return rows < row_step ? rows : row_step; }
};

struct KernelTable {
  GemmKernels bf16_tile;
  GemmKernels bf16_pair;
  GemmKernels f16;  // fp16 and float32 weights: one FMA chain per output in ascending k
  GemmKernels f32;
  GemmKernels codes;       // weights of codes whose products round their input
  GemmKernels codes_row8;  // the same of 8 bits with one group a row, in steps of kCodeStepK
  // The same of 4 bits in groups of kMostTileGroup or less, from so many rows times k of a group
  // on.
  GemmKernels codes_groups4 = {};
  int groups4_work = 1 << 30;
  // Weights of codes that keep their input, in tile order; they are packed for tiles where these
  // are.
  GemmKernels widened4 = {};    // Layout::kTiles
  GemmKernels widened8 = {};    // Layout::kTiles
  GemmKernels looked_up8 = {};  // Layout::kTable
  void (*widen)(const WidenCall& call);
  OpKernels ops;
  void (*read)(const void* data, std::int64_t bytes);  // streams over memory, a multiple of 1 KB
};

// One per translation unit; callable only where the machine has the instruction set, and linked
// only where the processor's family has it.
KernelTable scalar_kernels();
KernelTable avx2_kernels();
KernelTable avx512_kernels();
GemmKernels avx512_bf16_pair_gemm();
void avx512_bf16_attention(const AttnItem& item);  // in pair order
GemmKernels avx_vnni_codes_gemm();
GemmKernels avx512_vnni_codes_gemm();
GemmKernels amx_tile_gemm();
void amx_attention(const AttnItem& item);  // in tile order
GemmKernels amx_codes_gemm();              // codes_row8
GemmKernels amx_groups_gemm();             // codes_groups4
GemmKernels amx_lookup_gemm();             // widened4
GemmKernels amx_bytes_gemm();              // widened8
GemmKernels amx_e4m3_gemm();               // looked_up8
KernelTable neon_kernels();
GemmKernels neon_signed_codes_gemm();  // with DotProd
GemmKernels neon_mixed_codes_gemm();   // with I8MM

}  // namespace foretoken
