#include "backend/testing/far_memory.h"

#include <sys/mman.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::size_t kReserved = std::size_t{64} << 30;

}  // namespace

FarMemory::FarMemory()
    : base_(static_cast<std::byte*>(mmap(nullptr, kReserved, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  CHECK(base_ != MAP_FAILED);
}

FarMemory::~FarMemory() { munmap(base_, kReserved); }

void* FarMemory::address(std::size_t offset) const {
  CHECK(offset < kReserved);
  return base_ + offset;
}

bool FarMemory::has(const Tensor& view) const {
  const auto* address = static_cast<const std::byte*>(view.data());
  return address >= base_ && address < base_ + kReserved;
}

void FarMemory::map(const Tensor& far, const Tensor& real) {
  auto* begin = static_cast<std::byte*>(far.data());
  // Scratch is given out anew: what stood there before is gone.
  auto it = pieces_.lower_bound(begin);
  while (it != pieces_.end() && it->first < begin + far.bytes()) it = pieces_.erase(it);
  pieces_[begin] = {far.bytes(), static_cast<std::byte*>(real.data())};
}

Tensor FarMemory::real(const Tensor& far) const {
  if (far.empty()) return far;
  auto* address = static_cast<std::byte*>(far.data());
  auto it = pieces_.upper_bound(address);
  CHECK(it != pieces_.begin()) << "an address that the backend never gave";
  --it;
  const auto offset = static_cast<std::size_t>(address - it->first);
  CHECK(offset + far.bytes() <= it->second.bytes) << "a view beyond what the backend gave";
  return {it->second.real + offset, far.dtype(), far.shape()};
}

}  // namespace foretoken
