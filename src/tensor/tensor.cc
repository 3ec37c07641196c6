#include "tensor/tensor.h"

#include <algorithm>

namespace foretoken {

std::size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return 1;
  }
  CHECK(false) << "unknown dtype " << static_cast<int>(dtype);
  return 0;
}

bool dtype_is_float(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kBF16 ||
         dtype == DType::kF16;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF64:
      return "float64";
    case DType::kI64:
      return "int64";
    case DType::kI32:
      return "int32";
    case DType::kI16:
      return "int16";
    case DType::kI8:
      return "int8";
    case DType::kU8:
      return "uint8";
    case DType::kBool:
      return "bool";
    case DType::kF8E4M3:
      return "float8_e4m3";
    case DType::kF8E5M2:
      return "float8_e5m2";
  }
  CHECK(false) << "unknown dtype " << static_cast<int>(dtype);
  return {};
}

Shape::Shape(std::initializer_list<std::int64_t> dims)
    : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  CHECK(dims.size() <= kMaxRank) << "rank " << dims.size();
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= (*this)[i];
  return product;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i > 0 ? ", " : "") + std::to_string((*this)[i]);
  return text + "]";
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  CHECK(shape_.rank() >= 1) << "rows of a scalar";
  CHECK(first >= 0 && count >= 0 && first <= dim(0) && count <= dim(0) - first)
      << "rows " << first << " + " << count << " of " << shape_.str();
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  std::int64_t row_elements = 1;
  for (int i = 1; i < shape_.rank(); ++i) {
    dims[static_cast<std::size_t>(i)] = dim(i);
    row_elements *= dim(i);
  }
  dims[0] = count;
  const auto offset = static_cast<std::size_t>(first * row_elements) * dtype_bytes(dtype_);
  return {static_cast<std::byte*>(data_) + offset, dtype_,
          Shape(std::span(dims).first(static_cast<std::size_t>(shape_.rank())))};
}

void expect(const Tensor& x, std::initializer_list<std::int64_t> dims, DType dtype) {
  const Shape want(std::span<const std::int64_t>(dims.begin(), dims.size()));
  bool matches = x.dtype() == dtype && x.shape().rank() == want.rank();
  for (int i = 0; matches && i < want.rank(); ++i) matches = want[i] == -1 || want[i] == x.dim(i);
  CHECK(matches) << "expected " << dtype_name(dtype) << " " << want.str() << ", got "
                 << dtype_name(x.dtype()) << " " << x.shape().str();
}

}  // namespace foretoken
