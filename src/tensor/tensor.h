#pragma once
// Tensor: a typed, shaped, non-owning view of contiguous memory (row-major, last dimension
// fastest). Not a container (owners are Arena, Buffer, mapped files), not an expression: no
// arithmetic here. Copying a view is copying a pointer; a function may not keep a view beyond
// the call unless it says so.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace foretoken {

enum class DType : std::uint8_t {
  kF32,
  kBF16,
  kF16,
  kF64,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2
};

std::size_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);  // "float32", "bfloat16", ...
bool dtype_is_float(DType dtype);          // of 16 bits or more; those of 8 are codes

class Shape {
 public:
  static constexpr int kMaxRank = 5;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  std::int64_t elements() const;
  std::string str() const;  // "[2, 3]"
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, DType dtype, Shape shape) : data_(data), dtype_(dtype), shape_(shape) {}

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * dtype_bytes(dtype_); }
  void* data() const { return data_; }

  float* f32() const {
    DCHECK(dtype_ == DType::kF32);
    return static_cast<float*>(data_);
  }
  std::uint16_t* bits16() const {  // bf16 or fp16 as raw bits
    DCHECK(dtype_bytes(dtype_) == 2);
    return static_cast<std::uint16_t*>(data_);
  }
  float* row_f32(std::int64_t row) const { return f32() + row * shape_[shape_.rank() - 1]; }

  // Rows [first, first + count) of the first dimension.
  Tensor rows(std::int64_t first, std::int64_t count) const;

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

// Bug check: x has this shape and dtype. A dimension of -1 matches anything.
void expect(const Tensor& x, std::initializer_list<std::int64_t> dims, DType dtype);

}  // namespace foretoken
