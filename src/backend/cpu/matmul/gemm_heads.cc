// Products of heads, each with a matrix of its own: an item is some rows of one head, so that a
// worker reads the matrix once for them. Input and output are columns of wider rows. Bits of a row
// depend on that row and the matrices only, as in all products.

#include <algorithm>
#include <cstring>

#include "backend/cpu/matmul/gemm.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kItemRows = 64;

// How rows of one head lie on a worker.
struct HeadLayout {
  int rows = 0;               // of an item, at most
  std::int64_t stride = 0;    // elements from row to row of packed input
  std::size_t packed_at = 0;  // behind the rows as they are
  std::size_t bytes = 0;      // of all
};
HeadLayout lay_out(const GemmKernels& kernels, std::int64_t in, std::int64_t rows) {
  const int most = round_up(std::min(kItemRows, kernels.max_rows), kernels.row_step);
  HeadLayout layout{.rows = static_cast<int>(std::min<std::int64_t>(rows, most)),
                    .stride = round_up(in, std::int64_t{kBlockK}) + kernels.x_row_extra};
  layout.packed_at = round_up(at(layout.rows * in) * sizeof(float), kCacheLineBytes);
  layout.bytes =
      layout.packed_at +
      round_up(at(round_up(layout.rows, kernels.row_step) * layout.stride) * at(kernels.x_bytes),
               kCacheLineBytes);
  return layout;
}

}  // namespace

std::size_t Gemm::heads_bytes(const ForwardSize& size) const {
  std::size_t most = 0;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    most = std::max(most, lay_out(kernels_for(dtype), size.head_input, kItemRows).bytes);
  return size.head_input == 0 ? 0 : most * at(pool_.size());
}

void Gemm::run_heads(std::span<const std::unique_ptr<PackedLinear>> w, const Tensor& x,
                     const Tensor& y) {
  const auto head = [&](std::size_t h) -> const CpuLinear& {
    return static_cast<const CpuLinear&>(*w[h]);
  };
  const CpuLinear& first = head(0);
  CHECK(!first.format().is_coded()) << "heads of codes";
  const GemmKernels& kernels = kernels_for(first.dtype());
  const HeadLayout layout = lay_out(kernels, first.in_width(), x.dim(0));
  const auto heads = static_cast<int>(w.size());
  const std::int64_t in = first.in_width(), out = first.out_width();
  const std::int64_t x_step = x.dim(1) / heads, y_step = y.dim(1) / heads;
  const int row_items = ceil_div(static_cast<int>(x.dim(0)), layout.rows);
  const std::size_t bytes = layout.bytes * at(pool_.size());
  if (heads_.bytes() < bytes) heads_ = Buffer(bytes);

  pool_.parallel_for(heads * row_items, [&](int item, int worker) {
    const int h = item / row_items, row = item % row_items * layout.rows;
    const int rows = std::min(layout.rows, static_cast<int>(x.dim(0)) - row);
    const int tile_rows = kernels.tile_rows(rows);
    char* const own = static_cast<char*>(heads_.data()) + layout.bytes * at(worker);
    const void* input = x.row_f32(row) + h * x_step;
    std::int64_t stride = x.dim(1);
    if (kernels.pack_x != nullptr) {
      auto* const floats = reinterpret_cast<float*>(own);
      for (int r = 0; r < rows; ++r)
        std::copy_n(x.row_f32(row + r) + h * x_step, in, floats + r * in);
      input = own + layout.packed_at;
      stride = layout.stride;
      kernels.pack_x({.x = floats,
                      .k = in,
                      .packed = own + layout.packed_at,
                      .x_stride = stride,
                      .rows = rows,
                      .tile_rows = tile_rows,
                      .packed_k = first.packed_k()});
    }
    for (std::int64_t col = 0; col < out; col += kMaxCallCols)
      run_columns(kernels, head(at(h)), col,
                  {.x = input,
                   .x_stride = stride,
                   .y = y.row_f32(row) + h * y_step + col,
                   .y_stride = y.dim(1),
                   .rows = rows,
                   .cols = static_cast<int>(std::min<std::int64_t>(kMaxCallCols, out - col)),
                   .tile_rows = tile_rows},
                  worker);
  });
}

}  // namespace foretoken
