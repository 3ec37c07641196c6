#pragma once
// GuardedRow: a copy of a row of floats in front of a page without access rights: a read or write
// behind the row ends the process. For tests.

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace foretoken {

class GuardedRow {
 public:
  explicit GuardedRow(std::span<const float> row) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (row.size_bytes() + page - 1) / page * page;
    bytes_ = room + page;
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for a guarded row");
    auto* const end = static_cast<std::byte*>(memory_) + room;
    mprotect(end, page, PROT_NONE);
    row_ = {reinterpret_cast<float*>(end) - row.size(), row.size()};
    std::ranges::copy(row, row_.begin());
  }
  ~GuardedRow() { munmap(memory_, bytes_); }
  GuardedRow(const GuardedRow&) = delete;
  GuardedRow& operator=(const GuardedRow&) = delete;

  std::span<float> row() { return row_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::span<float> row_;
};

}  // namespace foretoken
