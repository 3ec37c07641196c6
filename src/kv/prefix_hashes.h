#pragma once
// PrefixHashes: one hash for each full page of a text, of everything up to the end of that page. So
// two texts can be compared, and looked up in the prefix cache, by a few probes instead of token by
// token. A hint, not a proof: who hands out pages compares their tokens. The hashes begin from the
// salt and from a secret of this process, so that nobody can prepare texts that collide.
// Thread-safe as any value is.

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"
#include "base/types.h"

namespace foretoken {

class PrefixHashes {
 public:
  // Equal texts under different salts share nothing.
  explicit PrefixHashes(std::uint64_t salt = 0);
  explicit PrefixHashes(std::span<const Token> text, std::uint64_t salt = 0);

  // `text` begins with the text so far; adds its further full pages.
  void extend(std::span<const Token> text);

  std::uint64_t salt() const { return salt_; }
  int pages() const { return static_cast<int>(hashes_.size()); }
  // Of the first `pages` >= 1 pages.
  std::uint64_t of(int pages) const { return hashes_[at(pages - 1)]; }

  // How many of their first `limit` pages both begin with; limit <= pages() of each.
  int common_pages(const PrefixHashes& other, int limit) const;

 private:
  std::uint64_t salt_;
  std::uint64_t start_;
  std::vector<std::uint64_t> hashes_;
};

// The largest number in [0, limit] that `holds`, where each below it holds too, and 0 does. Two
// probes when `guess` is the answer, a few more near it, about twice log2 of the limit at worst.
template <typename Predicate>
int largest_that(int limit, int guess, const Predicate& holds) {
  int low = 0, high = limit + 1;  // low holds, high does not
  if (guess > 0 && guess <= limit) {
    int step = 1;
    if (holds(guess)) {
      for (low = guess; low + step < high && holds(low + step); step *= 2) low += step;
      if (low + step < high) high = low + step;
    } else {
      for (high = guess; high - step > low && !holds(high - step); step *= 2) high -= step;
      if (high - step > low) low = high - step;
    }
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace foretoken
