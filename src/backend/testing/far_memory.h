#pragma once
// FarMemory: addresses that stand for memory elsewhere. The process cannot touch them: a read or a
// write ends it on the spot. Who knows where that memory is finds it here. For tests only. No
// locks.

#include <cstddef>
#include <cstdint>
#include <map>

#include "tensor/tensor.h"

namespace foretoken {

class FarMemory {
 public:
  FarMemory();  // reserves addresses, which costs no memory
  ~FarMemory();
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;

  // So many bytes from an offset on.
  void* address(std::size_t offset) const;

  bool has(const Tensor& view) const;

  // From now on the addresses of `far` stand for those of `real`, which may be null: for nothing.
  void map(const Tensor& far, const Tensor& real);
  // The memory that a view of far memory stands for; an empty one stands for itself.
  Tensor real(const Tensor& far) const;

 private:
  struct Piece {
    std::size_t bytes;
    std::byte* real;
  };
  std::byte* base_;
  std::map<std::byte*, Piece> pieces_;  // by far address
};

}  // namespace foretoken
