#pragma once
// Buffer: owns anonymous memory, 64-byte aligned, zeroed, on transparent huge pages where it is
// large. Not resizable. The first writer touches the memory first (NUMA placement follows the
// writer).

#include <cstddef>

#include "tensor/tensor.h"

namespace foretoken {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);  // throws Error when the system has no memory
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // A view of the beginning of the buffer; bug if it does not fit.
  Tensor view(DType dtype, Shape shape) const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace foretoken
