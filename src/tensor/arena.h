#pragma once
// Arena: bump allocation of the tensors of one step; reset() frees all of them at once, release()
// those since a mark. Not thread-safe: the engine thread allocates. Memory is not cleared between
// steps. Between steps it is one block, large enough for the largest step so far: what did not fit
// lies in blocks of its own until the step ends, and they all become one. So it never holds more
// than the largest step needed, up to a quarter more where steps kept growing.

#include <vector>

#include "tensor/buffer.h"

namespace foretoken {

class Arena {
 public:
  // block_bytes: the smallest block that is asked for.
  explicit Arena(std::size_t block_bytes = std::size_t{8} << 20);

  // 64-byte aligned, uninitialised. Throws Error when the system has no memory; the arena stays as
  // it was.
  Tensor alloc(DType dtype, Shape shape);

  // A point in the order of allocations; release() frees what came after it.
  struct Mark {
    std::size_t block = 0, offset = 0, used = 0;
  };
  Mark mark() const { return at_; }
  void release(const Mark& mark) { at_ = mark; }

  void reset();
  // reset(), and gives all memory back to the system: the next step starts small again.
  void shrink();

  std::size_t reserved_bytes() const;
  // In use at once, at most, by the largest step so far.
  std::size_t most_bytes() const { return most_; }

 private:
  Buffer new_block(std::size_t bytes) const;

  std::size_t block_bytes_;
  std::size_t first_bytes_ = 0;  // of the block that all others become
  std::vector<Buffer> blocks_;
  Mark at_;  // block in use, first free byte in it, bytes in use in all
  std::size_t most_ = 0;
};

}  // namespace foretoken
