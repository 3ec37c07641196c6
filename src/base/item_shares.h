#pragma once
// ItemShares: the items of a parallel region, dealt out to workers in contiguous shares, one for
// each. A worker takes the items of its own share and then those of others, until none are left.
// Not a thread pool: it knows neither threads nor what items are. Any number of workers may take at
// once, and one that is late, with a region that has ended, too: it finds nothing, or items of the
// next region, which then are its own to run.
// Which shares still have items stands in one word for 64 of them, so that nobody looks through
// those that are used up: a region costs a few cache lines per worker and two for each share that
// somebody else finishes, not the square of the number of workers. A handful of workers look at
// each other's shares directly, which is less than keeping the flags. Invariant while a region is
// open: a share whose flag is clear has no items.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretoken {

class ItemShares {
 public:
  explicit ItemShares(int workers);

  // Deals out the items [0, items). Of the region before, all items have been taken. By one thread.
  void open(int items);

  // The items one worker takes in a region, one after the other.
  class Taker {
   public:
    Taker(ItemShares& shares, int worker)
        : shares_(shares), share_(worker), to_visit_(shares.size() - 1) {}

    int next() {  // -1: none are left
      do {
        const int item = shares_.take(share_);
        if (item >= 0) return item;
      } while (find_share());
      return -1;
    }
    // Cache lines it has looked at so far: shares and words of flags.
    int lines() const { return lines_; }

   private:
    bool find_share();

    ItemShares& shares_;
    int share_;     // that is being taken from
    int to_visit_;  // shares behind it, around the circle
    int lines_ = 1;
  };

 private:
  // [end : 32 | next : 32] in one word, so that taking an item and finding the share used up are
  // one atomic operation. Whoever takes a valid item keeps its region from ending until it reports.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> word{0};
  };
  struct alignas(64) Flags {
    std::atomic<std::uint64_t> word{0};
  };
  static constexpr int kFlags = 64;      // shares per word
  static constexpr int kFewWorkers = 8;  // that need no flags

  int size() const { return static_cast<int>(shares_.size()); }
  static bool has_item(std::uint64_t word) { return (word & 0xffffffffU) < (word >> 32); }
  // An item of the share or -1. Who takes the last one clears the flag.
  int take(int share) {
    std::atomic<std::uint64_t>& word = shares_[static_cast<std::size_t>(share)].word;
    if (!has_item(word.load(std::memory_order_relaxed))) return -1;
    const std::uint64_t taken = word.fetch_add(1, std::memory_order_acq_rel);
    if (!has_item(taken)) return -1;
    if (!open_.empty() && !has_item(taken + 1)) clear_flag(share);
    return static_cast<int>(taken & 0xffffffffU);
  }
  void clear_flag(int share);

  std::vector<Share> shares_;
  std::vector<Flags> open_;  // of a share: it has items, or had a moment ago; none: few workers
};

}  // namespace foretoken
