#include "tensor/arena.h"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {
constexpr std::size_t kAlignment = 64;
}

Arena::Arena(std::size_t block_bytes) : block_bytes_(block_bytes) {}

// Where memory is short, no more than what is needed now: a step of many blocks is slower, not
// impossible.
Buffer Arena::new_block(std::size_t bytes) const {
  const std::size_t wanted = std::max({bytes, block_bytes_, blocks_.empty() ? first_bytes_ : 0});
  try {
    return Buffer(wanted);
  } catch (const Error&) {
    if (wanted == bytes) throw;
    return Buffer(bytes);
  }
}

Tensor Arena::alloc(DType dtype, Shape shape) {
  const Tensor sized(nullptr, dtype, shape);
  // An empty tensor still gets an address of its own, so that it differs from "no tensor".
  const std::size_t bytes =
      std::max(kAlignment, (sized.bytes() + kAlignment - 1) / kAlignment * kAlignment);
  Mark place = at_;
  while (place.block < blocks_.size() && bytes > blocks_[place.block].bytes() - place.offset) {
    ++place.block;
    place.offset = 0;
  }
  if (place.block == blocks_.size()) blocks_.push_back(new_block(bytes));
  auto* data = static_cast<std::byte*>(blocks_[place.block].data()) + place.offset;
  at_ = {place.block, place.offset + bytes, place.used + bytes};
  most_ = std::max(most_, at_.used);
  return {data, dtype, shape};
}

// Growing by a quarter at least, so that steps which grow a little each time do not ask the system
// for memory each time.
void Arena::reset() {
  at_ = {};
  if (blocks_.size() <= 1) return;
  first_bytes_ = std::max(most_, std::min(most_ + most_ / 4, first_bytes_ + first_bytes_ / 4));
  blocks_.clear();
}

void Arena::shrink() {
  at_ = {};
  first_bytes_ = 0;
  blocks_.clear();
}

std::size_t Arena::reserved_bytes() const {
  std::size_t total = 0;
  for (const Buffer& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace foretoken
