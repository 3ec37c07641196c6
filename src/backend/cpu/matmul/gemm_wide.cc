// Products of many rows, where a kernel can keep the sums of many columns until K is done: an item
// is all rows, as far as a call takes them, by some hundred columns, so that the input is read
// again for each of few items only and the weights once. Outputs are taken from the sums when they
// are complete, row after row, or in tiles for an operation that follows.

#include <algorithm>
#include <array>

#include "backend/cpu/matmul/gemm.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::array kItemCols{kWideCols, kWideCols / 2, kWideCols / 4};
constexpr int kPieceRows = 16;  // of a tile: its float32 stay in L1 or close to it

// Whether so many items keep all workers busy to the end, or nearly.
bool are_even(int items, int workers) {
  const int turns = ceil_div(items, workers);
  return items >= 2 * workers && turns * workers * 8 <= items * 9;
}

}  // namespace

struct Gemm::WideCut {
  int cols;  // of an item in each part
  int rows;
  int col_items, row_items;
  int parts;
};

auto Gemm::sum_of(const CpuLinear& w, int rows) const -> void (*)(const GemmCall&) {
  return is_widened(w) ? nullptr : kernels_for(w, rows).sum;
}

// Nothing where items would be too few or would cut a tile (of tile_cols columns, 0: there are
// none), or where the kernel has no such calls.
std::optional<Gemm::WideCut> Gemm::cut_wide(const CpuLinear& w, int rows, int parts,
                                            int tile_cols) const {
  const GemmKernels& kernels = kernels_for(w, rows);
  if (sum_of(w, rows) == nullptr || rows < kernels.wide_rows) return std::nullopt;
  if (parts > 1 && !(parts == 2 && w.are_pairs())) return std::nullopt;
  const std::int64_t part_cols = w.out_width() / parts;
  const int row_items = ceil_div(rows, kWideRows);
  for (const int item_cols : kItemCols) {
    const int cols = item_cols / parts;
    if (tile_cols > 0 && (cols % tile_cols != 0 || part_cols % cols != 0)) continue;
    // Columns of one matrix of a pair lie together.
    if (w.are_pairs() && w.out_width() / 2 % cols != 0) continue;
    const auto col_items = static_cast<int>(ceil_div(part_cols, cols));
    if (!are_even(col_items * row_items, pool_.size())) continue;
    return WideCut{.cols = cols,
                   .rows = round_up(ceil_div(rows, row_items), kernels.row_step),
                   .col_items = col_items,
                   .row_items = row_items,
                   .parts = parts};
  }
  return std::nullopt;
}

template <typename Use>
void Gemm::sum_wide(const CpuLinear& w, const PackedX& x, int rows, const WideCut& cut,
                    const Use& use) {
  const GemmKernels& kernels = kernels_for(w, rows);
  const std::int64_t part_cols = w.out_width() / cut.parts;
  const std::int64_t sum_floats = std::int64_t{cut.rows} * cut.cols * cut.parts;
  const std::size_t bytes = at(sum_floats * pool_.size()) * sizeof(float);
  if (sums_.bytes() < bytes) sums_ = Buffer(bytes);
  const int step_k = w.plans().of(rows).step_k;
  const auto sum = sum_of(w, rows);
  pool_.parallel_for(cut.col_items * cut.row_items, [&](int item, int worker) {
    const std::int64_t col = std::int64_t{item / cut.row_items} * cut.cols;
    const int row = item % cut.row_items * cut.rows;
    const auto cols = static_cast<int>(std::min<std::int64_t>(cut.cols, part_cols - col));
    // Both parts of a pair are blocks in turns, and a call of its own reads one of them.
    const GemmCall call{.weights = w.block(col / w.block_cols()),
                        .block_bytes = cut.parts == 2 ? w.block_bytes() : w.block_stride(),
                        .k = product_k(w),
                        .x = x.data + row * x.stride * kernels.x_bytes,
                        .x_stride = x.stride,
                        .y = nullptr,
                        .y_stride = 0,
                        .rows = std::min(cut.rows, rows - row),
                        .cols = cols * cut.parts,
                        .tile_rows = x.tile_rows,
                        .step_k = step_k,
                        .codes = w.codes(),
                        .sums = static_cast<float*>(sums_.data()) + worker * sum_floats};
    sum(call);
    use(call, row, col, worker);
  });
}

bool Gemm::run_wide(const CpuLinear& w, const PackedX& x, int rows, float* y) {
  const auto cut = cut_wide(w, rows, 1, 0);
  if (!cut) return false;
  const std::int64_t out = w.out_width();
  const auto take = kernels_for(w, rows).take;
  sum_wide(w, x, rows, *cut, [&](const GemmCall& call, int row, std::int64_t col, int) {
    take(call, {.first_row = 0,
                .rows = call.rows,
                .col = 0,
                .cols = call.cols,
                .bias = w.bias() == nullptr ? nullptr : w.bias() + col,
                .y = y + row * out + col,
                .y_stride = out});
  });
  return true;
}

bool Gemm::run_wide_tiles(const CpuLinear& w, const PackedX& x, int rows, int cols, int parts,
                          const UseTile& use) {
  const auto cut = cut_wide(w, rows, parts, cols);
  if (!cut) return false;
  const auto take = kernels_for(w, rows).take;
  const std::int64_t part_cols = w.out_width() / parts;
  // As wide as the item, because rows of few columns are slowly written to memory by `use`.
  const std::int64_t tile_floats = std::int64_t{kPieceRows} * cut->cols * parts;
  const std::size_t bytes = at(tile_floats * pool_.size()) * sizeof(float);
  if (tiles_.bytes() < bytes) tiles_ = Buffer(bytes);
  sum_wide(w, x, rows, *cut, [&](const GemmCall& call, int row, std::int64_t col, int worker) {
    float* const y = static_cast<float*>(tiles_.data()) + worker * tile_floats;
    // Blocks of both parts lie in turns, those of one part side by side.
    const int run = parts == 1 ? cut->cols : kBlockCols;
    for (int first = 0; first < call.rows; first += kPieceRows) {
      const int piece_rows = std::min(kPieceRows, call.rows - first);
      for (int part = 0; part < parts; ++part)
        for (int c = 0; c < cut->cols; c += run) {
          const float* const bias =
              w.bias() == nullptr ? nullptr : w.bias() + part * part_cols + col + c;
          take(call, {.first_row = first,
                      .rows = piece_rows,
                      .col = c * parts + part * kBlockCols,
                      .cols = run,
                      .bias = bias,
                      .y = y + std::int64_t{part} * piece_rows * cut->cols + c,
                      .y_stride = cut->cols});
        }
      use({.first_row = row + first,
           .rows = piece_rows,
           .first_col = static_cast<int>(col),
           .cols = cut->cols,
           .y = y},
          worker);
    }
  });
  return true;
}

}  // namespace foretoken
