#include "tensor/buffer.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallPage = 4096;

[[noreturn]] void throw_no_memory(std::size_t bytes) {
  throw Error(
      {"cannot allocate memory", {}, std::to_string(bytes) + " bytes", std::strerror(errno)});
}

void* map_pages(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw_no_memory(bytes);
  return data;
}

// The kernel aligns mappings to small pages only: map one huge page more and cut off both ends.
void* map_huge_pages(std::size_t bytes) {
  auto* raw = static_cast<std::byte*>(map_pages(bytes + kHugePage));
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t head = round_up(address, kHugePage) - address;
  if (head > 0) munmap(raw, head);
  munmap(raw + head + bytes, kHugePage - head);
#if defined(MADV_HUGEPAGE)
  madvise(raw + head, bytes, MADV_HUGEPAGE);  // a hint: without huge pages it is only slower
#endif
  return raw + head;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes > PTRDIFF_MAX - 2 * kHugePage) {
    errno = ENOMEM;
    throw_no_memory(bytes);
  }
  const bool large = bytes >= kHugePage;
  mapped_bytes_ = round_up(bytes, large ? kHugePage : kSmallPage);
  data_ = large ? map_huge_pages(mapped_bytes_) : map_pages(mapped_bytes_);
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, mapped_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

Tensor Buffer::view(DType dtype, Shape shape) const {
  const Tensor tensor(data_, dtype, shape);
  CHECK(tensor.bytes() <= bytes_) << dtype_name(dtype) << " " << shape.str() << " in a buffer of "
                                  << bytes_ << " bytes";
  return tensor;
}

}  // namespace foretoken
