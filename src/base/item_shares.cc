#include "base/item_shares.h"

#include <algorithm>
#include <bit>

#include "base/index.h"

namespace foretoken {

ItemShares::ItemShares(int workers)
    : shares_(at(workers)), open_(at(workers > kFewWorkers ? ceil_div(workers, kFlags) : 0)) {}

// With fewer items than workers some have none, as far from each other as they can be. Flags first:
// the worker that sees an item may be the one to clear its share's.
void ItemShares::open(int items) {
  const int count = size();
  const auto begin_of = [&](int share) {
    return static_cast<std::uint64_t>(std::int64_t{items} * share / count);
  };
  for (int first = 0; first < count && !open_.empty(); first += kFlags) {
    std::uint64_t flags = 0;
    for (int share = first; share < std::min(first + kFlags, count); ++share)
      if (begin_of(share) < begin_of(share + 1)) flags |= std::uint64_t{1} << (share - first);
    open_[at(first / kFlags)].word.store(flags, std::memory_order_relaxed);
  }
  for (int share = 0; share < count; ++share)
    shares_[at(share)].word.store(begin_of(share + 1) << 32 | begin_of(share),
                                  std::memory_order_release);
}

void ItemShares::clear_flag(int share) {
  open_[at(share / kFlags)].word.fetch_and(~(std::uint64_t{1} << share % kFlags),
                                           std::memory_order_relaxed);
}

// The next share around the circle, of those whose flag is set. Each is visited once, for none gets
// items again before the region ends.
bool ItemShares::Taker::find_share() {
  while (to_visit_ > 0) {
    int next = share_ + 1 == shares_.size() ? 0 : share_ + 1;
    if (!shares_.open_.empty()) {
      const int bit = next % kFlags;
      const int in_word = std::min({kFlags - bit, shares_.size() - next, to_visit_});
      const std::uint64_t flags =
          shares_.open_[at(next / kFlags)].word.load(std::memory_order_relaxed) >> bit;
      const int skipped = std::min(std::countr_zero(flags), in_word);
      ++lines_;
      to_visit_ -= skipped;
      next += skipped;
      share_ = next - 1;
      if (skipped == in_word) continue;
    }
    share_ = next;
    --to_visit_;
    ++lines_;
    return true;
  }
  return false;
}

}  // namespace foretoken
