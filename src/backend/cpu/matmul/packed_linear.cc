#include "backend/cpu/matmul/packed_linear.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/matmul/convert.h"
#include "backend/cpu/table/kernels.h"
#include "backend/ops/load_ops.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

constexpr int kChunk = 512;  // elements of a source row converted at a time; a multiple of kBlockK

// The stacked matrices seen as one list of rows.
class StackedRows {
 public:
  explicit StackedRows(std::span<const Tensor> parts) {
    for (const Tensor& part : parts) {
      parts_.push_back(part);
      first_.push_back(rows_);
      rows_ += part.dim(0);
    }
  }
  std::int64_t rows() const { return rows_; }
  struct Row {
    const char* data;
    DType dtype;
  };
  // Row `row` from its element k on.
  Row row(std::int64_t row, std::int64_t k) const {
    const auto next = std::upper_bound(first_.begin(), first_.end(), row);
    const auto i = static_cast<std::size_t>(next - first_.begin()) - 1;
    const Tensor& part = parts_[i];
    const std::int64_t element = (row - first_[i]) * part.dim(1) + k;
    return {static_cast<const char*>(part.data()) +
                element * static_cast<std::int64_t>(dtype_bytes(part.dtype())),
            part.dtype()};
  }

 private:
  std::vector<Tensor> parts_;
  std::vector<std::int64_t> first_;
  std::int64_t rows_ = 0;
};

// The first of column `col`'s elements in its block of tiles; pairs of them are kPairBytes apart.
constexpr std::int64_t kPairBytes = 64, kTileBytes = 1024;
std::int64_t tile_column(int col) { return col / 16 * kTileBytes + col % 16 * 4; }

// Write elements [k, k + count) of column `col` of a block, k a multiple of kBlockK. Values are raw
// bits of the dtype, followed by zeros to a multiple of kBlockK.
void scatter_tiles(const std::uint16_t* values, std::int64_t k, int count, int col, char* block) {
  char* to = block + k / kBlockK * (2 * kTileBytes) + tile_column(col);
  for (int i = 0; i < count; i += kBlockK, to += kTileBytes)
    for (int pair = 0; pair < kBlockK; pair += 2, to += kPairBytes)
      std::memcpy(to, values + i + pair, 4);
}
template <class T>
void scatter_chain(const T* values, std::int64_t k, int count, int col, char* block) {
  T* to = reinterpret_cast<T*>(block) + k * kChainBlockCols + col;
  for (int i = 0; i < count; ++i, to += kChainBlockCols) *to = values[i];
}

LinearShape shape_of(const LinearParts& parts) {
  LinearShape shape{.dtype = parts.dtype, .format = parts.format};
  for (const Tensor& part : parts.weights) {
    CHECK(part.shape().rank() == 2 && part.dim(1) == parts.weights[0].dim(1));
    shape.rows.push_back(part.dim(0));
    shape.in_width = part.dim(1);
  }
  for (const CodedRows* part : parts.codes) {
    CHECK(parts.format.is_coded() && parts.weights.empty());
    CHECK(part->width() == parts.codes[0]->width());
    shape.rows.push_back(part->rows());
    shape.in_width = part->width();
  }
  CHECK(parts.biases.empty() || parts.biases.size() == shape.rows.size());
  for (std::size_t i = 0; i < parts.biases.size(); ++i) {
    if (parts.biases[i].empty()) continue;
    CHECK(parts.biases[i].elements() == shape.rows[i]);
    shape.has_bias = true;
  }
  return shape;
}

}  // namespace

CpuLinear::CpuLinear(const LinearParts& parts, ThreadPool& pool, Layout wanted) {
  lay_out(shape_of(parts), wanted);
  if (format_.is_coded())
    pack_codes(parts, pool);
  else
    pack_floats(parts, pool);
  pack_bias(parts);
  pack_order(parts);
}

CpuLinear::CpuLinear(const LinearShape& shape, const FillImage& fill, ThreadPool& pool,
                     Layout wanted, bool& is_whole) {
  lay_out(shape, wanted);
  std::atomic<bool> is_filled{true};
  std::size_t number = 0;
  for (const Buffer* image : buffers()) {
    const std::size_t at_image = number++;
    const auto pieces = ceil_div(image->bytes(), LoadOps::kImagePiece);
    // By all workers: memory lies near who writes it first.
    pool.parallel_for(static_cast<int>(pieces), [&](int piece, int) {
      const std::size_t offset = at(piece) * LoadOps::kImagePiece;
      const std::span<std::byte> to(static_cast<std::byte*>(image->data()) + offset,
                                    std::min(LoadOps::kImagePiece, image->bytes() - offset));
      if (is_filled.load(std::memory_order_relaxed) && !fill(at_image, offset, to))
        is_filled.store(false, std::memory_order_relaxed);
    });
  }
  is_whole = is_filled.load() && has_whole_order();
}

std::vector<const Buffer*> CpuLinear::buffers() const {
  std::vector<const Buffer*> all{&weights_, &bias_};
  if (format_.has_column_order) all.push_back(&order_);
  return all;
}

std::vector<std::span<const std::byte>> CpuLinear::images() const {
  std::vector<std::span<const std::byte>> images;
  for (const Buffer* image : buffers())
    images.emplace_back(static_cast<const std::byte*>(image->data()), image->bytes());
  return images;
}

void CpuLinear::lay_out(const LinearShape& shape, Layout wanted) {
  const std::vector<std::int64_t>& rows = shape.rows;
  CHECK(!rows.empty());
  dtype_ = shape.dtype;
  format_ = shape.format;
  in_ = shape.in_width;
  out_ = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  // A kernel's call never reaches from one matrix into the other.
  are_pairs_ = rows.size() == 2 && rows[0] == rows[1] && out_ / 2 % kMaxCallCols == 0;
  if (format_.is_coded())
    lay_out_codes(wanted);
  else
    lay_out_floats();
  weights_ = Buffer(at(round_up(out_, kBlockCols) / block_cols_ * block_bytes_));
  if (shape.has_bias) bias_ = Buffer(at(round_up(out_, kBlockCols)) * sizeof(float));
  if (format_.has_column_order) order_ = Buffer(at(in_) * sizeof(std::int32_t));
}

void CpuLinear::lay_out_floats() {
  CHECK(dtype_ == DType::kBF16 || dtype_ == DType::kF16 || dtype_ == DType::kF32)
      << "weights cannot be kept as " << dtype_name(dtype_);
  const bool tiles = dtype_ == DType::kBF16;
  block_cols_ = tiles ? kBlockCols : kChainBlockCols;
  packed_k_ = tiles ? round_up(in_, kBlockK) : in_;
  block_bytes_ = packed_k_ * block_cols_ * static_cast<std::int64_t>(dtype_bytes(dtype_));
}

void CpuLinear::pack_floats(const LinearParts& parts, ThreadPool& pool) {
  const StackedRows rows(parts.weights);
  const bool tiles = dtype_ == DType::kBF16;
  const std::size_t element = dtype_bytes(dtype_);
  const std::int64_t blocks = round_up(out_, kBlockCols) / block_cols_;
  pool.parallel_for(static_cast<int>(blocks), [&](int b, int) {
    alignas(64) char values[kChunk * 4];
    char* block_data = place(b);
    for (std::int64_t k = 0; k < in_; k += kChunk) {
      const int count = static_cast<int>(std::min<std::int64_t>(kChunk, in_ - k));
      if (count < kChunk) std::memset(values, 0, sizeof values);
      for (int col = 0; col < block_cols_; ++col) {
        const std::int64_t row = std::int64_t{b} * block_cols_ + col;
        if (row >= out_) break;
        const StackedRows::Row source = rows.row(row, k);
        convert(source.data, source.dtype, values, dtype_, count);
        if (tiles)
          scatter_tiles(reinterpret_cast<std::uint16_t*>(values), k, count, col, block_data);
        else if (element == 2)
          scatter_chain(reinterpret_cast<std::uint16_t*>(values), k, count, col, block_data);
        else
          scatter_chain(reinterpret_cast<float*>(values), k, count, col, block_data);
      }
    }
  });
}

void CpuLinear::pack_bias(const LinearParts& parts) {
  if (bias_.bytes() == 0) return;
  const std::vector<std::int64_t> rows = shape_of(parts).rows;
  float* to = static_cast<float*>(bias_.data());
  for (std::size_t i = 0; i < parts.biases.size(); to += rows[i++]) {
    const Tensor& bias = parts.biases[i];
    if (!bias.empty()) convert(bias.data(), bias.dtype(), to, DType::kF32, rows[i]);
  }
}

void CpuLinear::pack_order(const LinearParts& parts) {
  if (!format_.has_column_order) return;
  CHECK(!parts.codes.empty());
  const std::span<const std::int32_t> order = parts.codes[0]->column_order();
  CHECK(std::cmp_equal(order.size(), in_));
  for (const CodedRows* part : parts.codes) CHECK(std::ranges::equal(part->column_order(), order));
  std::ranges::copy(order, static_cast<std::int32_t*>(order_.data()));
  CHECK(has_whole_order());
}

bool CpuLinear::has_whole_order() const {
  if (!format_.has_column_order) return true;
  std::vector<bool> is_there(at(in_), false);
  for (const std::int32_t column : std::span(column_order(), at(in_))) {
    if (column < 0 || column >= in_ || is_there[at(column)]) return false;
    is_there[at(column)] = true;
  }
  return true;
}

std::string CpuLinear::format_name() const {
  if (!format_.is_coded()) return std::string(dtype_name(dtype_));
  std::string name = (format_.is_float ? "fp" : "int") + std::to_string(format_.bits);
  if (format_.group > 0) name += "/" + std::to_string(format_.group);
  return name + (format_.rounds_input ? " a8" : "");
}

void CpuLinear::gather_row(std::int64_t row, float* out) const {
  DCHECK(row >= 0 && row < out_);
  if (format_.is_coded()) return gather_codes(row, out);
  const char* data = block(row / block_cols_);
  const int col = static_cast<int>(row % block_cols_);
  if (dtype_ == DType::kBF16) {
    constexpr int kAhead = 8;  // blocks of K: the machine's own prefetching stumbles over the gaps
    const char* from = data + tile_column(col);
    for (std::int64_t k = 0; k < in_; k += kBlockK, from += 2 * kTileBytes) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlockK, in_ - k));
      for (int pair = 0; pair < kBlockK / 2; ++pair)
        __builtin_prefetch(from + kAhead * 2 * kTileBytes + pair * kPairBytes);
      for (int i = 0; i < count; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, from + i / 2 * kPairBytes + i % 2 * 2, 2);
        out[k + i] = bf16_to_f32(bits);
      }
    }
  } else if (dtype_ == DType::kF16) {
    const auto* values = reinterpret_cast<const std::uint16_t*>(data) + col;
    for (std::int64_t k = 0; k < in_; ++k) out[k] = f16_to_f32(values[k * kChainBlockCols]);
  } else {
    const auto* values = reinterpret_cast<const float*>(data) + col;
    for (std::int64_t k = 0; k < in_; ++k) out[k] = values[k * kChainBlockCols];
  }
}

}  // namespace foretoken
