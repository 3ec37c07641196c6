#pragma once
// Arena: bump allocation of the tensors of one step; reset() frees all of them at once.
// Not thread-safe: the engine thread allocates. Grows by whole blocks on first use and never in
// steady state. Memory is not cleared between steps.

#include <vector>

#include "tensor/buffer.h"

namespace foretoken {

class Arena {
 public:
  explicit Arena(std::size_t block_bytes = std::size_t{8} << 20);

  // 64-byte aligned, uninitialised.
  Tensor alloc(DType dtype, Shape shape);
  void reset();
  std::size_t reserved_bytes() const;

 private:
  std::size_t block_bytes_;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0;   // block in use
  std::size_t offset_ = 0;  // first free byte in it
};

}  // namespace foretoken
