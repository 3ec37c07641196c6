#pragma once
// Weights of a linear layer as the CPU kernels read them (layouts in kernels.h), with their bias.
// The one copy of a matrix: an embedding tied to the head reads its rows from here too. Two stacked
// matrices of one size (gate|up) lie side by side, a block of one and a block of the other, because
// they are read together.
// Immutable once packed and tuned, hence readable from any thread.

#include <vector>

#include "backend/cpu/matmul/product_plan.h"
#include "backend/cpu/table/kernels.h"
#include "backend/weights.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

class CpuLinear : public PackedLinear {
 public:
  // Converts and packs on the pool, row by row: no second copy of a matrix is made. Shapes, dtypes
  // and formats are the caller's duty (bug if they disagree). wanted: of codes, see
  // kernels.h; kTiles: codes that keep their input are laid out for tiles, as kTiles or kTable.
  CpuLinear(const LinearParts& parts, ThreadPool& pool, Layout wanted = Layout::kDots);
  // From the bytes that images() of another gave; `is_whole` becomes false where fill says so.
  CpuLinear(const LinearShape& shape, const FillImage& fill, ThreadPool& pool, Layout wanted,
            bool& is_whole);

  // The name of the layout, under which images() are kept. It must change with every change of the
  // bytes that are packed for given matrices: places of weights, or rounding. A test holds both.
  static constexpr const char* layout_name(Layout wanted) {
    return wanted == Layout::kDots ? "cpu 2" : "cpu 3 tiles";
  }

  std::int64_t in_width() const override { return in_; }
  std::int64_t out_width() const override { return out_; }
  std::size_t bytes() const override { return weights_.bytes() + bias_.bytes() + order_.bytes(); }

  DType dtype() const { return dtype_; }  // kBF16, kF16 or kF32; of codes: unused
  const WeightFormat& format() const { return format_; }
  std::vector<std::span<const std::byte>> images() const override;
  const CodeLayout& codes() const { return codes_; }  // where the format has codes
  std::int64_t packed_k() const { return packed_k_; }
  int block_cols() const { return block_cols_; }  // outputs per block
  std::int64_t block_stride() const { return are_pairs_ ? 2 * block_bytes_ : block_bytes_; }
  bool are_pairs() const { return are_pairs_; }
  std::int64_t block_bytes() const { return block_bytes_; }
  // Further blocks follow at block_stride(), within one matrix of a pair.
  const char* block(std::int64_t index) const {
    return static_cast<const char*>(weights_.data()) + place_of(index) * block_bytes_;
  }
  // [out_width padded to kBlockCols] or null.
  const float* bias() const { return static_cast<const float*>(bias_.data()); }
  // The column of the input that meets each k [in_width], where the format has an order; or null.
  const std::int32_t* column_order() const {
    return static_cast<const std::int32_t*>(order_.data());
  }

  // How products with it are computed: chosen at load time, before the first step.
  const ProductPlans& plans() const { return plans_; }
  ProductPlans& plans() { return plans_; }
  std::string format_name() const;  // "bfloat16", "int4/32", "int8 a8"

  // Row `row` of the matrix, exactly (codes as their product sees them), to out [in_width]. A row
  // of bf16 touches a cache line for every pair of its elements, because a line holds those of
  // sixteen rows, as products want them.
  void gather_row(std::int64_t row, float* out) const;

 private:
  void lay_out(const LinearShape& shape, Layout wanted);  // all but the values
  void lay_out_floats();
  void lay_out_codes(Layout wanted);
  void lay_out_blocks();
  void pack_floats(const LinearParts& parts, ThreadPool& pool);
  void pack_codes(const LinearParts& parts, ThreadPool& pool);
  void pack_blocks(const LinearParts& parts, ThreadPool& pool);
  void pack_bias(const LinearParts& parts);
  void pack_order(const LinearParts& parts);
  bool has_whole_order() const;                // all columns once, where there is an order
  std::vector<const Buffer*> buffers() const;  // those of images()
  void gather_codes(std::int64_t row, float* out) const;
  void gather_blocks(std::int64_t row, float* out) const;
  char* place(std::int64_t block) {
    return static_cast<char*>(weights_.data()) + place_of(block) * block_bytes_;
  }
  std::int64_t place_of(std::int64_t block) const {
    const std::int64_t half = out_ / 2 / block_cols_;
    if (!are_pairs_) return block;
    return block < half ? 2 * block : 2 * (block - half) + 1;
  }

  std::int64_t in_ = 0, out_ = 0, packed_k_ = 0, block_bytes_ = 0;
  int block_cols_ = 0;
  bool are_pairs_ = false;
  DType dtype_ = DType::kBF16;
  WeightFormat format_;
  CodeLayout codes_ = {};
  Buffer weights_;
  Buffer bias_;
  Buffer order_;
  ProductPlans plans_;
};

}  // namespace foretoken
