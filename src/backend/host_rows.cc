#include <algorithm>

#include "backend/host_step.h"
#include "base/error.h"

namespace foretoken {

void gather_host_rows(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) {
  expect(out, {static_cast<std::int64_t>(rows.size()), x.dim(1)}, DType::kF32);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.row_f32(rows[i]), x.dim(1), out.row_f32(static_cast<std::int64_t>(i)));
}

void copy_host_rows(const Tensor& x, std::span<const std::int32_t> from, const Tensor& out,
                    std::span<const std::int32_t> to) {
  expect(x, {-1, out.dim(1)}, DType::kF32);
  CHECK(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    std::copy_n(x.row_f32(from[i]), x.dim(1), out.row_f32(to[i]));
}

void join_host_columns(const Tensor& a, const Tensor& b, const Tensor& out) {
  expect(a, {out.dim(0), out.dim(1) - b.dim(1)}, DType::kF32);
  expect(b, {out.dim(0), -1}, DType::kF32);
  for (std::int64_t r = 0; r < out.dim(0); ++r)
    std::copy_n(b.row_f32(r), b.dim(1), std::copy_n(a.row_f32(r), a.dim(1), out.row_f32(r)));
}

}  // namespace foretoken
