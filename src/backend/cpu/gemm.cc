#include "backend/cpu/gemm.h"

#include <algorithm>

#include "backend/cpu/kernel_check.h"
#include "base/error.h"
#include "base/log.h"

namespace foretoken {
namespace {

int ceil_div(std::int64_t a, std::int64_t b) { return static_cast<int>((a + b - 1) / b); }

// How the output is cut into items: `cols` columns by `rows` rows each, rows varying fastest, so
// that a worker's contiguous share of items is one contiguous stream of weights.
struct Cut {
  int cols, rows;
  int col_items, row_items;
};

Cut cut_output(const GemmKernels& kernels, std::int64_t out, int rows, int workers) {
  constexpr int kStreamRows = 16;     // up to here the weights' stream is the cost: smallest items
  constexpr int kItemsPerWorker = 6;  // enough to even out cores of unequal speed
  constexpr int kFewestRows = 48;     // of an item; with fewer, reading weights dominates

  Cut cut;
  cut.cols = rows <= kStreamRows ? kBlockCols : kMaxCallCols;
  cut.col_items = ceil_div(out, cut.cols);
  const int wanted = ceil_div(std::int64_t{kItemsPerWorker} * workers, cut.col_items);
  const int most = std::max(1, rows / kFewestRows);
  const int row_items = std::max(std::min(wanted, most), ceil_div(rows, kernels.max_rows));
  cut.rows = ceil_div(ceil_div(rows, row_items), kernels.row_step) * kernels.row_step;
  cut.row_items = ceil_div(rows, cut.rows);
  return cut;
}

}  // namespace

KernelTable select_kernels(Isa isa) {
  if (isa == Isa::kScalar) return scalar_kernels();
  if (isa == Isa::kAvx2) return avx2_kernels();
  KernelTable table = avx512_kernels();
  const auto adopt = [](GemmKernels& kernels, const GemmKernels& faster, const char* instruction) {
    if (reproduces(faster, kernels))
      kernels = faster;
    else
      log_warning("{} adds in another order than documented on this processor and is not used",
                  instruction);
  };
  if (isa >= Isa::kAvx512Bf16) adopt(table.bf16_pair, avx512_bf16_pair_gemm(), "VDPBF16PS");
  if (isa >= Isa::kAmx) adopt(table.bf16_tile, amx_tile_gemm(), "TDPBF16PS");
  return table;
}

Gemm::Gemm(const KernelTable& kernels, GemmOrder order, ThreadPool& pool)
    : kernels_(kernels), order_(order), pool_(pool) {}

const GemmKernels& Gemm::kernels_for(DType dtype) const {
  if (dtype == DType::kF32) return kernels_.f32;
  if (dtype == DType::kF16) return kernels_.f16;
  return order_ == GemmOrder::kTile ? kernels_.bf16_tile : kernels_.bf16_pair;
}

Gemm::PackedX Gemm::pack_x(const GemmKernels& kernels, const CpuLinear& w, const float* x,
                           int rows) {
  constexpr std::int64_t kAlone = 1 << 15;  // elements that are rounded faster than workers wake up
  const std::int64_t k = w.in_width();
  if (kernels.pack_x == nullptr) return {reinterpret_cast<const char*>(x), k};

  const std::int64_t stride = w.packed_k() + kernels.x_row_extra;
  const std::int64_t padded_rows =
      std::int64_t{ceil_div(rows, kernels.row_step)} * kernels.row_step;
  const auto bytes = static_cast<std::size_t>(padded_rows * stride * kernels.x_bytes);
  if (packed_x_.bytes() < bytes) packed_x_ = Buffer(bytes);
  char* packed = static_cast<char*>(packed_x_.data());

  const auto pack_rows = [&](int first, int count) {
    kernels.pack_x({.x = x + first * k,
                    .k = k,
                    .packed = packed + first * stride * kernels.x_bytes,
                    .x_stride = stride,
                    .rows = count});
  };
  if (rows * k <= kAlone) {
    const FlushDenormals flush;
    pack_rows(0, rows);
  } else {
    pool_.parallel_for(ceil_div(rows, kernels.row_step), [&](int item, int) {
      const int first = item * kernels.row_step;
      pack_rows(first, std::min(kernels.row_step, rows - first));
    });
  }
  return {packed, stride};
}

void Gemm::run(const CpuLinear& w, const float* x, int rows, float* y) {
  CHECK(rows > 0);
  const GemmKernels& kernels = kernels_for(w.dtype());
  const PackedX packed = pack_x(kernels, w, x, rows);
  const std::int64_t out = w.out_width();
  const Cut cut = cut_output(kernels, out, rows, pool_.size());

  pool_.parallel_for(cut.col_items * cut.row_items, [&](int item, int) {
    const int col = item / cut.row_items * cut.cols;
    const int row = item % cut.row_items * cut.rows;
    kernels.run({.weights = w.block(col / w.block_cols()),
                 .block_bytes = w.block_bytes(),
                 .k = w.packed_k(),
                 .x = packed.data + row * packed.stride * kernels.x_bytes,
                 .x_stride = packed.stride,
                 .y = y + row * out + col,
                 .y_stride = out,
                 .bias = w.bias() == nullptr ? nullptr : w.bias() + col,
                 .rows = std::min(cut.rows, rows - row),
                 .cols = static_cast<int>(std::min<std::int64_t>(cut.cols, out - col))});
  });
}

}  // namespace foretoken
