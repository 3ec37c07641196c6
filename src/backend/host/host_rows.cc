#include <algorithm>
#include <cstring>

#include "backend/host/host_step.h"
#include "base/error.h"
#include "base/index.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr std::int64_t kAlone = 1 << 15;  // numbers that are copied before workers wake up

// body(row) for all rows of `width` numbers.
template <typename Body>
void each_row(ThreadPool& pool, std::int64_t rows, std::int64_t width, const Body& body) {
  if (rows * width > kAlone && rows > 1) {
    pool.parallel_for(static_cast<int>(rows), [&](int row, int) { body(row); });
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) body(row);
}

}  // namespace

std::unique_ptr<PackedLinear> pack_host_rows(Ops& ops, const PackedLinear& w,
                                             std::span<const Token> rows, DType dtype,
                                             const WeightFormat& format) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const Buffer memory(at(count * w.in_width()) * sizeof(float));
  const Tensor matrix = memory.view(DType::kF32, {count, w.in_width()});
  ops.embed(w, rows, matrix);
  return ops.pack({.weights = {&matrix, 1}, .biases = {}, .dtype = dtype, .format = format});
}

void copy_host(const Tensor& from, const Tensor& to) {
  CHECK(from.dtype() == to.dtype() && from.shape() == to.shape())
      << from.shape().str() << " to " << to.shape().str();
  if (from.bytes() > 0) std::memcpy(to.data(), from.data(), from.bytes());
}

void gather_host_columns(ThreadPool& pool, const Tensor& x, std::span<const std::int32_t> rows,
                         const Tensor& out, std::int64_t column) {
  expect(x, {-1, -1}, DType::kF32);
  expect(out, {static_cast<std::int64_t>(rows.size()), -1}, DType::kF32);
  CHECK(column >= 0 && column + x.dim(1) <= out.dim(1))
      << x.dim(1) << " columns from " << column << " on in rows of " << out.dim(1);
  each_row(pool, out.dim(0), x.dim(1), [&](std::int64_t row) {
    std::copy_n(x.row_f32(rows[at(row)]), x.dim(1), out.row_f32(row) + column);
  });
}

// A row may be written twice, so rows stay in order and workers divide the columns.
void copy_host_rows(ThreadPool& pool, const Tensor& x, std::span<const std::int32_t> from,
                    const Tensor& out, std::span<const std::int32_t> to) {
  constexpr std::int64_t kPiece = 256;  // columns: sixteen cache lines
  expect(x, {-1, out.dim(1)}, DType::kF32);
  CHECK(from.size() == to.size());
  const std::int64_t width = x.dim(1), rows = static_cast<std::int64_t>(from.size());
  const auto copy = [&](std::int64_t first, std::int64_t count) {
    for (std::size_t i = 0; i < from.size(); ++i)
      std::copy_n(x.row_f32(from[i]) + first, count, out.row_f32(to[i]) + first);
  };
  if (rows * width <= kAlone) return copy(0, width);
  const std::int64_t piece = round_up(ceil_div(width, std::int64_t{pool.size()}), kPiece);
  pool.parallel_for(static_cast<int>(ceil_div(width, piece)),
                    [&](int i, int) { copy(i * piece, std::min(piece, width - i * piece)); });
}

void read_host_rows(const Tensor& x, std::span<const std::int32_t> rows, std::vector<float>& out) {
  const auto width = at(x.dim(1));
  out.resize(rows.size() * width);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.row_f32(rows[i]), width, out.begin() + static_cast<std::ptrdiff_t>(i * width));
}

void join_host_columns(ThreadPool& pool, const Tensor& a, const Tensor& b, const Tensor& out) {
  expect(a, {out.dim(0), out.dim(1) - b.dim(1)}, DType::kF32);
  expect(b, {out.dim(0), -1}, DType::kF32);
  each_row(pool, out.dim(0), out.dim(1), [&](std::int64_t row) {
    std::copy_n(b.row_f32(row), b.dim(1), std::copy_n(a.row_f32(row), a.dim(1), out.row_f32(row)));
  });
}

}  // namespace foretoken
