#pragma once
// BodyBudget: how many bytes of request bodies all connections together may hold. A body claims its
// bytes before they are read; what does not fit is refused with a status instead of being stored.
// Small bodies are free, so that they pass while large ones fill the budget (the limit of
// connections bounds them), and a quarter is kept for those of medium size. Thread-safe.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace foretoken {

class BodyBudget {
 public:
  static constexpr std::size_t kFreeBytes = 16 << 10;
  static constexpr std::size_t kMediumBytes = 1 << 20;

  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class BodyClaim;

  // Whether a body that has claimed `had` may now claim `wanted` in all.
  bool take(std::size_t had, std::size_t wanted) {
    const std::size_t limit = wanted > kMediumBytes ? bytes_ - bytes_ / 4 : bytes_;
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used - had + wanted > limit) return false;
    } while (!used_.compare_exchange_weak(used, used - had + wanted, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::size_t bytes_;
  std::atomic<std::size_t> used_{0};
};

// One body's share, given back with the object.
class BodyClaim {
 public:
  explicit BodyClaim(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  ~BodyClaim() { release(); }
  BodyClaim(BodyClaim&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyClaim& operator=(BodyClaim&&) = delete;

  // Room for a body whose length is known.
  bool reserve(std::size_t bytes) {
    if (bytes <= std::max(bytes_, BodyBudget::kFreeBytes)) return true;
    if (!budget_->take(bytes_, bytes)) return false;
    bytes_ = bytes;
    return true;
  }
  // Room for a body that has grown to `bytes` and may end at `most`: claims ahead, as the string
  // that holds it does.
  bool grow(std::size_t bytes, std::size_t most) {
    if (bytes <= std::max(bytes_, BodyBudget::kFreeBytes)) return true;
    return reserve(std::min(2 * bytes, std::max(bytes, most)));
  }
  void release() {
    if (bytes_ > 0) budget_->give_back(bytes_);
    bytes_ = 0;
  }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace foretoken
