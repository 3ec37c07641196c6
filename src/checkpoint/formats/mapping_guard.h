#pragma once
// MappingGuard: survives the reading of a mapped file that has become shorter, or that its disk
// cannot read. Such a read raises SIGBUS; the handler puts zero pages in the place of the rest of
// the mapping, notes it, and the reader goes on. Whoever reads a mapping asks was_hit() before it
// believes what it read. Faults elsewhere go where they went before. The handler is installed with
// the first guard and stays. Threads: any; a guard is made and ended by one.

#include <cstddef>

namespace foretoken {

class MappingGuard {
 public:
  // Guards `bytes` bytes of a mapping that begins at `data` (a page) and outlives the guard.
  MappingGuard(std::byte* data, std::size_t bytes);
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  bool was_hit() const;

  struct Slot;

 private:
  Slot* slot_;
};

}  // namespace foretoken
