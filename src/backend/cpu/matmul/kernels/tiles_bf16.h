#pragma once
// The tile order on 2D tile registers. For translation units of kernels only (v16.h).
//
// Tiles is the instruction set: eight registers of up to 16 rows of 64 bytes. The processor's is in
// kernels_amx.cc; a test runs the same code on a software model.
//   zero<T>(), load<T>(p, row_bytes), store<T>(p, row_bytes)
//   load_once<T>(p, row_bytes)   of what need not stay in L1
//   dot<C, A, B>()               C += A * B
//   configure(shape)             readies the calling thread; says how much of the registers of sums
//                                and input there is (those of weights are always whole)
//
//   register   0  1  2  3        4  5                6  7
//   holds      sums [rows][2]    input: 2 x 16 rows  weights: 2 x 16 columns

#include "backend/cpu/simd/row_reach.h"
#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileBytes = 1024;  // 16 rows x 32 bf16, or 16 x 16 float32
constexpr int kTileFloats = 256;
constexpr int kAmxMaxRows = 256;  // of one call: 32 KB of accumulators on the stack
constexpr int kAmxStep = 16;      // tiles of K: 32 columns of weights are 32 KB, in L1
// Fewer do not pay for sums that leave the registers' neighbourhood, unless tiles of weights are
// made of codes: a wide call makes them once for all its rows, which narrow ones cut among items.
constexpr int kAmxWideRows = 192, kAmxWideRowsOfMade = 97;
// Memory is fastest where each tile of weights is asked for as one burst of lines, a tile or two
// before it is loaded: farther ahead, in another page, requests keep the machine's own prefetching
// from getting ahead of both.
constexpr int kAmxPrefetchBytes = 3 * kTileBytes / 2;
constexpr int kTileLines = kTileBytes / 64;

constexpr int kSumTiles = 4, kInputTiles = 2;  // the first registers; then those of weights

// Of sums and of input. What a register has not is neither read nor multiplied: few rows are cheap,
// and loads of 64 bytes from each 4 would cross lines.
struct TileShape {
  int rows = kTileRows, row_bytes = 64;
  bool is_half = false;  // of K: input has half of the bytes of a row, and weights of their rows
  bool operator==(const TileShape&) const = default;
};
struct TileSize {
  int rows, row_bytes;
  bool operator==(const TileSize&) const = default;
};
constexpr TileSize size_of_tile(TileShape shape, int tile) {
  const int share = shape.is_half ? 2 : 1;
  if (tile < kSumTiles) return {shape.rows, shape.row_bytes};
  if (tile < kSumTiles + kInputTiles) return {shape.rows, shape.row_bytes / share};
  return {kTileRows / share, 64};
}
constexpr TileShape shape_of_rows(int tile_rows) { return {.rows = tile_rows}; }
// Where weights are the left side of a product: sums have a column for a row of input.
constexpr TileShape shape_of_turned_rows(int tile_rows) { return {.row_bytes = 4 * tile_rows}; }

// From a tile of packed input to that of the next block of K.
FT_INLINE int x_tile_bytes(int tile_rows) { return tile_rows * 64; }

// kBlockK values rounded to bf16; those that are not left are 0.
FT_INLINE void round_block(const float* x, std::int64_t left, std::uint16_t* to) {
  for (int half = 0; half < kBlockK; half += 16)
    store_bf16(to + half, load_upto(x + half, left - half));
}

// x rounded to bf16 in tiles [rows/16][K/32][tile_rows][32]. The last rows of a tile may be
// missing: what stands there makes outputs that nobody takes.
inline void pack_x_tiles(const PackXCall& call) {
  const std::int64_t blocks = ceil_div(call.k, kBlockK);
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    std::uint16_t* to = static_cast<std::uint16_t*>(call.packed) +
                        row / kTileRows * kTileRows * call.x_stride + row % kTileRows * kBlockK;
    for (std::int64_t block = 0; block < blocks; ++block, to += call.tile_rows * kBlockK)
      round_block(from + block * kBlockK, call.k - block * kBlockK, to);
  }
}

// What is fixed of a panel when it is compiled.
struct PanelForm {
  int row_tiles = 1;  // of up to 16 rows each: 1 or 2
  // The weights of the panel stay in L1 while input passes from L2: it is read without being kept,
  // and the accumulators of the next panel are asked for.
  bool is_wide = false;
  // Weights are the left side of a product: a tile of them has an output to a row, one of input
  // pairs of k, and accumulators have rows and outputs exchanged.
  bool has_left_weights = false;
};

// form.row_tiles x 2 tiles of accumulators over some blocks of K.
struct TilePanel {
  const char* x;             // [K/32] tiles of the first 16 rows
  std::int64_t x_next_rows;  // bytes to those of the next 16
  int tile_rows;             // of x
  const char* weights;       // [K/32][2] tiles
  std::int64_t k_blocks;
  float* acc;         // [row_tiles][2] tiles
  bool resume;        // acc holds the sums of earlier blocks
  const char* ahead;  // weights that are asked for meanwhile
  int ahead_lines;    // of them, beside each tile of weights; all or none if not wide
};

// tmm0..3 += the products of a block of K; see run_tile_panel.
template <class Tiles, PanelForm Form, int C, int X, int W>
FT_INLINE void multiply_tile() {
  if constexpr (Form.has_left_weights)
    Tiles::template dot<C, W, X>();
  else
    Tiles::template dot<C, X, W>();
}
// Where input pairs of k are the rows of a tile, its own rows are the columns.
template <class Tiles, PanelForm Form, int T>
FT_INLINE void load_x_tile(const char* x, int tile_rows) {
  const std::int64_t row_bytes = Form.has_left_weights ? 4 * tile_rows : 64;
  if constexpr (Form.is_wide)
    Tiles::template load_once<T>(x, row_bytes);
  else
    Tiles::template load<T>(x, row_bytes);
}
// The products of a tile of weights, of the first or second 16 columns, with the first 16 rows,
// which stay in tmm4 for the second, and those of both tiles with the next 16.
template <class Tiles, PanelForm Form, int Half>
FT_INLINE void multiply_half(const char* x, int tile_rows, const char* w) {
  Tiles::template load<6 + Half>(w, 64);
  if constexpr (Half == 0) load_x_tile<Tiles, Form, 4>(x, tile_rows);
  multiply_tile<Tiles, Form, Half, 4, 6 + Half>();
}
template <class Tiles, PanelForm Form>
FT_INLINE void multiply_next_rows(const char* x, int tile_rows) {
  load_x_tile<Tiles, Form, 5>(x, tile_rows);
  multiply_tile<Tiles, Form, 2, 5, 6>();
  multiply_tile<Tiles, Form, 3, 5, 7>();
}
// ask(): called beside each tile of weights.
template <class Tiles, PanelForm Form, class Ask>
FT_INLINE void multiply_tiles(const char* x, std::int64_t x_next_rows, int tile_rows, const char* w,
                              const Ask& ask) {
  ask();
  multiply_half<Tiles, Form, 0>(x, tile_rows, w);
  ask();
  multiply_half<Tiles, Form, 1>(x, tile_rows, w + kTileBytes);
  if constexpr (Form.row_tiles == 2) multiply_next_rows<Tiles, Form>(x + x_next_rows, tile_rows);
}

template <class Tiles>
FT_INLINE void zero_tiles() {
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  Tiles::template zero<2>();
  Tiles::template zero<3>();
}
template <class Tiles, int RowTiles>
FT_INLINE void store_tiles(float* acc, int row_bytes = 64) {
  Tiles::template store<0>(acc, row_bytes);
  Tiles::template store<1>(acc + kTileFloats, row_bytes);
  if constexpr (RowTiles == 2) {
    Tiles::template store<2>(acc + 2 * kTileFloats, row_bytes);
    Tiles::template store<3>(acc + 3 * kTileFloats, row_bytes);
  }
}

template <class Tiles, PanelForm Form>
void run_tile_panel(const TilePanel& p) {
  constexpr int kRowBytes = 64, kAccLines = 4;
  if (p.resume) {
    Tiles::template load<0>(p.acc, kRowBytes);
    Tiles::template load<1>(p.acc + kTileFloats, kRowBytes);
    if constexpr (Form.row_tiles == 2) {
      Tiles::template load<2>(p.acc + 2 * kTileFloats, kRowBytes);
      Tiles::template load<3>(p.acc + 3 * kTileFloats, kRowBytes);
    }
  } else {
    zero_tiles<Tiles>();
  }
  const char* x = p.x;
  const char* w = p.weights;
  const char* ahead = p.ahead;
  const char* next_acc = reinterpret_cast<const char*>(p.acc + 2 * Form.row_tiles * kTileFloats);
  for (std::int64_t block = 0; block < p.k_blocks;
       ++block, x += x_tile_bytes(p.tile_rows), w += 2 * kTileBytes) {
    if constexpr (Form.is_wide)
      for (int line = 0; line < kAccLines; ++line, next_acc += 64) __builtin_prefetch(next_acc, 1);
    multiply_tiles<Tiles, Form>(x, p.x_next_rows, p.tile_rows, w, [&] {
      if constexpr (Form.is_wide) {
        for (int line = 0; line < p.ahead_lines; ++line, ahead += 64) prefetch_l2(ahead);
      } else if (p.ahead_lines > 0) {
        FT_UNROLL
        for (int line = 0; line < kTileLines; ++line, ahead += 64) prefetch_l2(ahead);
      }
    });
  }
  store_tiles<Tiles, Form.row_tiles>(p.acc);
}

// All rows of a call, from a panel that describes the first of them; `ahead_lines` of it beside
// each tile of weights are divided among the row tiles if the form is wide, or go with the first
// ones. Form.row_tiles is not read: row_tiles counts them.
template <class Tiles, PanelForm Form>
void run_row_tiles(TilePanel panel, int row_tiles) {
  constexpr PanelForm kPair = {
      .row_tiles = 2, .is_wide = Form.is_wide, .has_left_weights = Form.has_left_weights};
  constexpr PanelForm kLast = {
      .row_tiles = 1, .is_wide = Form.is_wide, .has_left_weights = Form.has_left_weights};
  for (int tile = 0; tile < row_tiles; tile += 2) {
    if (tile + 1 < row_tiles)
      run_tile_panel<Tiles, kPair>(panel);
    else
      run_tile_panel<Tiles, kLast>(panel);
    panel.x += 2 * panel.x_next_rows;
    panel.acc += 4 * kTileFloats;
    if (Form.is_wide)
      panel.ahead += panel.k_blocks * 2 * panel.ahead_lines * 64;
    else
      panel.ahead_lines = 0;
  }
}

// Where outputs go, 16 at a time from a column on, a multiple of 16: whole blocks of columns
// without a bias, which most are, or any.
struct WholeOutputs {
  static constexpr bool kIsWhole = true;
  float* y;
  std::int64_t stride;

  explicit WholeOutputs(const GemmOutputs& out) : y(out.y), stride(out.y_stride) {}
  FT_INLINE void put(int row, int col, V16 a) const { store(y + row * stride + col, a); }
};
struct AnyOutputs {
  static constexpr bool kIsWhole = false;
  const GemmOutputs& out;

  explicit AnyOutputs(const GemmOutputs& outputs) : out(outputs) {}
  FT_INLINE void put(int row, int col, V16 a) const {
    float* const to = out.y + row * out.y_stride + col;
    if (out.bias != nullptr) a = add(a, load(out.bias + col));
    if (out.cols - col < 16) return store_n(to, a, out.cols - col);
    store(to, a);
  }
};

template <class To, typename OutputOf>
FT_INLINE void put_tile_outputs(const GemmOutputs& out, const float* sums,
                                std::int64_t block_floats, const OutputOf& output_of) {
  const To to(out);
  sums += out.first_row / kTileRows * 2 * kTileFloats + out.col / kBlockCols * block_floats;
  for (int row = 0; row < out.rows; row += kTileRows, sums += 2 * kTileFloats) {
    const int some = out.rows - row < kTileRows ? out.rows - row : kTileRows;
    const float* block = sums;
    for (int col = 0; col < out.cols; col += kBlockCols, block += block_floats) {
      const auto output = output_of(out.first_row + row, col);
      for (int r = 0; r < some; ++r) {
        const float* const from = block + r * 16;
        to.put(row + r, col, output(r, 0, from));
        if (To::kIsWhole || col + 16 < out.cols)
          to.put(row + r, col + 16, output(r, 1, from + kTileFloats));
      }
    }
  }
}

// Puts what output_of(row, col)(r, half, sums) makes of the sums of 16 columns of the r-th row of a
// tile, whose first is `row`. Tile after tile, as sums lie: [row tiles][2] tiles of each 32
// columns; those of all rows of a call take `block_floats`.
template <typename OutputOf>
FT_INLINE void each_tile_output(const GemmOutputs& out, const float* sums,
                                std::int64_t block_floats, const OutputOf& output_of) {
  if (out.bias == nullptr && out.cols % kBlockCols == 0)
    put_tile_outputs<WholeOutputs>(out, sums, block_floats, output_of);
  else
    put_tile_outputs<AnyOutputs>(out, sums, block_floats, output_of);
}

inline int sums_of_block(int rows) { return ceil_div(rows, kTileRows) * 2 * kTileFloats; }

inline void take_tiles(const GemmCall& call, const GemmOutputs& out) {
  each_tile_output(out, call.sums, sums_of_block(call.rows),
                   [](int, int) { return [](int, int, const float* sums) { return load(sums); }; });
}

// Outputs from a column on, so many at most.
inline GemmOutputs outputs_of(const GemmCall& call, int col, int most) {
  const int left = call.cols - col;
  return {.first_row = 0,
          .rows = call.rows,
          .col = 0,
          .cols = left < most ? left : most,
          .bias = call.bias == nullptr ? nullptr : call.bias + col,
          .y = call.y + col,
          .y_stride = call.y_stride};
}

// Where the weights of 32 columns lie, from a block of K on: as they are. (tiles_codes_kept.h has
// those that are made of codes.)
struct PackedTiles {
  static constexpr bool kIsWidened = false, kIsLeft = false;
  const char* at(const GemmCall& call, int n, std::int64_t block, std::int64_t) const {
    return static_cast<const char*>(call.weights) + n * call.block_bytes + block * 2 * kTileBytes;
  }
};

// Tiles of K that are widened before some rows are multiplied: beside them the input of 64 rows
// fits L1, too.
constexpr int kWidenedStep = kAmxStep / 2;

// Tiles of K after which 32 columns of some rows are interrupted: never while their accumulators
// fit the registers, late while what is read again are few rows of input.
inline std::int64_t narrow_step(int row_tiles, std::int64_t blocks) {
  if (row_tiles <= 2) return blocks;
  if (row_tiles <= 6) return 4 * kAmxStep;
  return row_tiles <= 10 ? kAmxStep / 2 : kAmxStep;
}

// Sums the first 32 columns of all rows of the call over K to call.sums [row tiles][2] tiles.
// tile_k: of a row of a tile, which has 64 bytes.
template <class Tiles, class Weights = PackedTiles>
void sum_tile_columns(const GemmCall& call, int tile_k) {
  const int row_tiles = ceil_div(call.rows, kTileRows);
  const std::int64_t blocks = call.k / tile_k;
  const std::int64_t step = Weights::kIsWidened                ? kWidenedStep
                            : call.step_k > 0 && row_tiles > 2 ? ceil_div(call.step_k, tile_k)
                                                               : narrow_step(row_tiles, blocks);
  Weights source;
  for (std::int64_t block = 0; block < blocks; block += step) {
    const std::int64_t some = blocks - block < step ? blocks - block : step;
    const char* const weights = source.at(call, 0, block, some);
    const int ahead = call.prefetch_bytes > 0 ? call.prefetch_bytes : kAmxPrefetchBytes;
    run_row_tiles<Tiles, PanelForm{.has_left_weights = Weights::kIsLeft}>(
        {.x = static_cast<const char*>(call.x) + block * x_tile_bytes(call.tile_rows),
         .x_next_rows = kTileRows * call.x_stride * (64 / tile_k),
         .tile_rows = call.tile_rows,
         .weights = weights,
         .k_blocks = some,
         .acc = call.sums,
         .resume = block > 0,
         .ahead = weights + ahead,
         .ahead_lines = Weights::kIsWidened ? 0 : kTileLines},
        row_tiles);
  }
}

// The same of all columns of the call to call.sums: steps of K outside, so that the input of a step
// stays in L2 while all columns pass, and 32 columns of weights in L1 while all rows do.
template <class Tiles, class Weights = PackedTiles>
void sum_wide_tiles(const GemmCall& call, int tile_k) {
  Tiles::configure({});
  const int row_tiles = ceil_div(call.rows, kTileRows), row_pairs = ceil_div(row_tiles, 2);
  const int col_blocks = ceil_div(call.cols, kBlockCols);
  const std::int64_t blocks = call.k / tile_k;
  const std::int64_t step =
      call.step_k > 0 && !Weights::kIsWidened ? ceil_div(call.step_k, tile_k) : kAmxStep;
  Weights source;
  for (std::int64_t block = 0; block < blocks; block += step) {
    const bool is_last_step = block + step >= blocks;
    const std::int64_t some = is_last_step ? blocks - block : step;
    for (int n = 0; n < col_blocks; ++n) {
      TilePanel panel = {
          .x = static_cast<const char*>(call.x) + block * x_tile_bytes(call.tile_rows),
          .x_next_rows = kTileRows * call.x_stride * (64 / tile_k),
          .tile_rows = call.tile_rows,
          .weights = source.at(call, n, block, some),
          .k_blocks = some,
          .acc = call.sums + n * sums_of_block(call.rows),
          .resume = block > 0,
          .ahead = nullptr,
          .ahead_lines = 0};
      if constexpr (!Weights::kIsWidened) {
        // After the last step comes the next item, most likely.
        const bool is_last = n + 1 == col_blocks;
        panel.ahead = !is_last        ? source.at(call, n + 1, block, some)
                      : !is_last_step ? source.at(call, 0, block + step, some)
                                      : source.at(call, n + 1, 0, some);
        panel.ahead_lines = ceil_div(kTileLines, row_pairs);
      }
      run_row_tiles<Tiles, PanelForm{.is_wide = true, .has_left_weights = Weights::kIsLeft}>(
          panel, row_tiles);
    }
  }
}

// Of a call whose columns are summed kBlockCols at a time, or two times that in turns where one
// tile has all rows.
inline int cols_in_turns(int rows) { return rows <= kTileRows ? 2 * kBlockCols : kBlockCols; }

// A call as calls of so many columns, whose sums are made by sum(call) in tiles of a shape and
// become outputs by take.
template <class Tiles, class Sum>
void run_column_blocks(const GemmCall& all, TileShape shape, int cols,
                       void (*take)(const GemmCall&, const GemmOutputs&), const Sum& sum) {
  Tiles::configure(shape);
  alignas(64) float acc[kAmxMaxRows / kTileRows * 2 * kTileFloats];
  GemmCall call = all;
  call.sums = acc;
  for (int col = 0; col < all.cols; col += cols) {
    const GemmOutputs out = outputs_of(all, col, cols);
    call.weights = static_cast<const char*>(all.weights) + col / kBlockCols * all.block_bytes;
    call.cols = out.cols;
    sum(call);
    take(call, out);
  }
}

template <class Tiles>
void run_tile_gemm(const GemmCall& all) {
  run_column_blocks<Tiles>(all, shape_of_rows(all.tile_rows), kBlockCols, take_tiles,
                           [](const GemmCall& call) { sum_tile_columns<Tiles>(call, kBlockK); });
}

// The GEMM's four accumulators, fed from L1 with numbers like real ones: processors take their
// clock back for those, and multiply zeros a fifth faster.
template <class Tiles>
double tile_peak(int rounds) {
  Tiles::configure({});
  alignas(64) std::uint16_t data[4 * kTileBytes / 2];
  std::uint32_t state = 1;
  for (std::uint16_t& value : data) {
    state = state * 1664525 + 1013904223;
    value = static_cast<std::uint16_t>((state >> 16 & 0x807f) | 0x3f00);  // +-0.5 to 1
  }
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  Tiles::template zero<2>();
  Tiles::template zero<3>();
  for (int i = 0; i < rounds; ++i) {
    Tiles::template load<4>(data, 64);
    Tiles::template load<5>(data + kTileBytes / 2, 64);
    Tiles::template load<6>(data + kTileBytes, 64);
    Tiles::template load<7>(data + 3 * kTileBytes / 2, 64);
    Tiles::template dot<0, 4, 6>();
    Tiles::template dot<1, 4, 7>();
    Tiles::template dot<2, 5, 6>();
    Tiles::template dot<3, 5, 7>();
  }
  return rounds * 4.0 * (2.0 * kTileRows * 16 * kBlockK);
}

template <class Tiles>
constexpr GemmKernels tile_gemm(int wide_rows) {
  return {.pack_x = pack_x_tiles,
          .run = [](const GemmCall& call) { run_tile_gemm<Tiles>(call); },
          .peak = tile_peak<Tiles>,
          .x_bytes = 2,
          .x_row_extra = 0,
          .row_step = kTileRows,
          .max_rows = kAmxMaxRows,
          .sum = [](const GemmCall& call) { sum_wide_tiles<Tiles>(call, kBlockK); },
          .take = take_tiles,
          .wide_rows = wide_rows};
}

}  // namespace
}  // namespace foretoken
