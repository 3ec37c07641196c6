#pragma once
// Products on 2D tile registers of codes that keep their input: a step of K is widened to tiles of
// the bf16 weights that the codes stand for while the tiles of the step before it are multiplied,
// and what was widened comes from L1. Bits are those of the bf16 product in tile order.
// For translation units of kernels only (v16.h).
//
// What widens, Codes, has
//   kIsLeft: a tile of weights has an output to a row, instead of one to a column, and is the left
//     side of the product; the right one is input in pairs of k, and sums come out turned
//   widen<ColBlocks>(call, n, block, blocks, steps): blocks of K of kBlockCols columns, from the
//     n-th of a call on, or of two such in turns, which memory brings faster than one. In steps of
//     one or two blocks; each is widened to steps.tiles(), with steps.beside<N>() between one
//     tile's worth of it and the next, and then is steps.add<N>(blocks), where N counts columns

#include "backend/cpu/matmul/kernels/tiles_bf16.h"

namespace foretoken {
namespace {

// Codes are asked for so far ahead, to be in L1.
constexpr int kCodesAhead = 2560;

// Calls use(unit, first, count) for the units of some blocks of K of the n-th kBlockCols columns:
// the k in it, multiples of kBlockK.
template <class Use>
FT_INLINE void each_unit(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks,
                         const Use& use) {
  const CodeLayout& codes = call.codes;
  int k = static_cast<int>(block) * kBlockK;
  const int end = k + static_cast<int>(blocks) * kBlockK, group = k / codes.group;
  const char* unit = static_cast<const char*>(call.weights) + n * call.block_bytes +
                     std::int64_t{group} * codes.unit_bytes;
  for (int first = k - group * codes.group; k < end; unit += codes.unit_bytes, first = 0) {
    const int count = codes.group - first < end - k ? codes.group - first : end - k;
    use(unit, first, count);
    k += count;
  }
}

// Where what is asked for lies while steps of a stream of weights are read. The first of two
// streams ends where the second begins, which has been read long ago: after its end it asks for
// what comes first in the stream after those two, because nothing else runs into that.
struct Ahead {
  std::int64_t bytes;
  const char* last;   // of which a step is asked for whole
  std::int64_t leap;  // from there on

  FT_INLINE const char* of(const char* step) const {
    const char* const asked = step + bytes;
    return asked <= last ? asked : asked + leap;
  }
};

// Of each stream, from the n-th kBlockCols columns of a call on. usual: bytes, of a call that names
// none.
template <int Streams>
struct StreamsAhead {
  Ahead of[Streams];

  StreamsAhead(const GemmCall& call, int n, std::int64_t usual, std::int64_t step_bytes) {
    const std::int64_t bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : usual;
    const char* end = static_cast<const char*>(call.weights) + n * call.block_bytes;
    for (int i = 0; i < Streams; ++i) {
      end += call.block_bytes;
      of[i] = {bytes, end - step_bytes, i + 1 < Streams ? Streams * call.block_bytes : 0};
    }
  }
};

// beside.multiply<Tile>() of a tile that is known when loops are unrolled.
template <class Beside>
FT_INLINE void multiply_beside(const Beside& beside, int tile) {
  if (tile == 0) beside.template multiply<0>();
  if (tile == 1) beside.template multiply<1>();
  if (tile == 2) beside.template multiply<2>();
  if (tile == 3) beside.template multiply<3>();
}

// Steps that lie in a row and are multiplied later.
class StepsInRow {
 public:
  explicit StepsInRow(char* to) : to_(to) {}
  char* tiles() { return to_; }
  template <int>
  void add(int blocks) {
    to_ += blocks * 2 * kTileBytes;
  }
  struct Nothing {
    template <int Tile>
    FT_INLINE void multiply() const {}
  };
  template <int>
  FT_INLINE Nothing beside() {
    return {};
  }

 private:
  char* to_;
};

// Steps that are multiplied beside the next one, a tile of weights at a time. Tiles multiply while
// vectors widen if both are near enough in the program for the processor to see them at once. Two
// times kBlockCols columns share the input that their step of K has loaded.
template <class Tiles, PanelForm Form, int ColBlocks>
class StepProducts {
 public:
  static_assert(Form.row_tiles * ColBlocks <= 2, "sums stay in registers");
  explicit StepProducts(const GemmCall& call)
      : x_(static_cast<const char*>(call.x)),
        next_x_(x_),
        x_next_rows_(kTileRows * call.x_stride * 2),
        tile_rows_(call.tile_rows) {}

  char* tiles() { return tiles_[next_]; }
  template <int N>
  FT_INLINE void add(int blocks) {
    constexpr int kLast = (N + ColBlocks - 1) % ColBlocks;
    if (blocks_ > blocks) {
      multiply<kLast, 2>();
      multiply<kLast, 3>();
    }
    w_ = tiles_[next_];
    next_ ^= 1;
    blocks_ = blocks;
    if constexpr (N > 0) return;
    x_ = next_x_;
    next_x_ += blocks * x_tile_bytes(tile_rows_);
  }
  void finish() {
    constexpr int kLast = ColBlocks - 1;
    multiply<kLast, 0>();
    multiply<kLast, 1>();
    multiply<kLast, 2>();
    multiply<kLast, 3>();
  }

  template <int N>
  struct Beside {
    StepProducts& products;
    template <int Tile>
    FT_INLINE void multiply() const {
      products.multiply<(N + ColBlocks - 1) % ColBlocks, Tile>();
    }
  };
  template <int N>
  FT_INLINE Beside<N> beside() {
    return {*this};
  }

 private:
  // A tile of the last step, which is the N-th columns': [2 blocks of K][2 halves].
  template <int N, int Tile>
  FT_INLINE void multiply() {
    constexpr int kBlock = Tile / 2, kHalf = Tile % 2;
    if (kBlock >= blocks_) return;
    const char* const x = x_ + kBlock * x_tile_bytes(tile_rows_);
    if constexpr (Form.row_tiles == 2) {
      multiply_half<Tiles, Form, kHalf>(x, tile_rows_, w_ + Tile * kTileBytes);
      if constexpr (kHalf == 1) multiply_next_rows<Tiles, Form>(x + x_next_rows_, tile_rows_);
    } else {
      Tiles::template load<6 + kHalf>(w_ + Tile * kTileBytes, 64);
      if constexpr (kHalf == 0 && N == 0) load_x_tile<Tiles, Form, 4 + kBlock>(x, tile_rows_);
      multiply_tile<Tiles, Form, 2 * N + kHalf, 4 + kBlock, 6 + kHalf>();
    }
  }

  const char* x_;
  const char* next_x_;
  const std::int64_t x_next_rows_;
  const int tile_rows_;
  const char* w_ = nullptr;
  int blocks_ = 0;  // of the last step
  int next_ = 0;
  alignas(64) char tiles_[2][4 * kTileBytes];
};

template <class Codes>
class WidenedTiles {
 public:
  static constexpr bool kIsWidened = true, kIsLeft = Codes::kIsLeft;

  const char* at(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks) {
    StepsInRow steps(tiles_);
    codes_.template widen<1>(call, n, block, blocks, steps);
    return tiles_;
  }

 private:
  Codes codes_;
  alignas(64) char tiles_[kAmxStep * 2 * kTileBytes];
};

// Rows and columns of a tile of floats exchanged.
inline void turn_tile(float* tile) {
  V16 rows[16];
  FT_UNROLL
  for (int i = 0; i < 16; ++i) rows[i] = load(tile + i * 16);
  transpose(rows);
  FT_UNROLL
  for (int i = 0; i < 16; ++i) store(tile + i * 16, rows[i]);
}
template <class Codes>
void turn_sums(float* tiles, int count) {
  if constexpr (Codes::kIsLeft)
    for (int i = 0; i < count; ++i) turn_tile(tiles + i * kTileFloats);
}
// Of one row outputs lie side by side as soon as rows of a tile, a float each, are stored so.
template <class Codes>
bool has_turned_sums(const GemmCall& call) {
  return Codes::kIsLeft && call.tile_rows == 1;
}

// All columns of the call, of so few rows that all their sums stay in registers.
template <class Tiles, class Codes, int RowTiles, int ColBlocks>
void sum_few_widened(const GemmCall& call) {
  Codes codes;
  constexpr PanelForm kForm = {.row_tiles = RowTiles, .has_left_weights = Codes::kIsLeft};
  StepProducts<Tiles, kForm, ColBlocks> products(call);
  zero_tiles<Tiles>();
  codes.template widen<ColBlocks>(call, 0, 0, call.k / kBlockK, products);
  products.finish();
  store_tiles<Tiles, RowTiles * ColBlocks>(call.sums,
                                           has_turned_sums<Codes>(call) ? sizeof(float) : 64);
}

template <class Tiles, class Codes>
void run_widened(const GemmCall& all) {
  const int row_tiles = ceil_div(all.rows, kTileRows);
  const TileShape shape =
      Codes::kIsLeft ? shape_of_turned_rows(all.tile_rows) : shape_of_rows(all.tile_rows);
  run_column_blocks<Tiles>(
      all, shape, cols_in_turns(all.rows), take_tiles, [=](const GemmCall& call) {
        if (call.cols > kBlockCols)
          sum_few_widened<Tiles, Codes, 1, 2>(call);
        else if (row_tiles == 1)
          sum_few_widened<Tiles, Codes, 1, 1>(call);
        else if (row_tiles == 2)
          sum_few_widened<Tiles, Codes, 2, 1>(call);
        else
          sum_tile_columns<Tiles, WidenedTiles<Codes>>(call, kBlockK);
        if (!has_turned_sums<Codes>(call))
          turn_sums<Codes>(call.sums, 2 * row_tiles * ceil_div(call.cols, kBlockCols));
      });
}

template <class Tiles, class Codes>
void sum_wide_widened(const GemmCall& call) {
  sum_wide_tiles<Tiles, WidenedTiles<Codes>>(call, kBlockK);
  turn_sums<Codes>(call.sums,
                   ceil_div(call.cols, kBlockCols) * sums_of_block(call.rows) / kTileFloats);
}

// x rounded to bf16 in tiles [rows/16][K/32][16 pairs of k][tile_rows][2]; see pack_x_tiles.
inline void pack_x_pairs(const PackXCall& call) {
  const std::int64_t blocks = ceil_div(call.k, kBlockK);
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    char* to = static_cast<char*>(call.packed) +
               (row / kTileRows * kTileRows * call.x_stride + row % kTileRows * 2) * 2;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::uint16_t values[kBlockK];
      round_block(from + block * kBlockK, call.k - block * kBlockK, values);
      for (int pair = 0; pair < kBlockK; pair += 2, to += 4 * call.tile_rows)
        __builtin_memcpy(to, values + pair, 4);
    }
  }
}

template <class Tiles, class Codes>
constexpr GemmKernels widened_gemm(int wide_rows) {
  GemmKernels kernels = tile_gemm<Tiles>(wide_rows);
  if constexpr (Codes::kIsLeft) {
    kernels.pack_x = pack_x_pairs;
    kernels.x_row_place = 2;
  }
  kernels.run = [](const GemmCall& call) { run_widened<Tiles, Codes>(call); };
  kernels.sum = [](const GemmCall& call) { sum_wide_widened<Tiles, Codes>(call); };
  return kernels;
}

}  // namespace
}  // namespace foretoken
