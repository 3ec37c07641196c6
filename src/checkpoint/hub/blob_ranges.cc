#include "checkpoint/hub/blob_ranges.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace foretoken {

void BlobRanges::add(BlobRange range) {
  if (range.size() <= 0) return;
  auto next = end_of_.upper_bound(range.begin);
  if (next != end_of_.begin() && std::prev(next)->second >= range.begin) --next;
  while (next != end_of_.end() && next->first <= range.end) {
    range.begin = std::min(range.begin, next->first);
    range.end = std::max(range.end, next->second);
    next = end_of_.erase(next);
  }
  end_of_[range.begin] = range.end;
}

std::int64_t BlobRanges::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : end_of_) sum += end - begin;
  return sum;
}

std::vector<BlobRange> BlobRanges::missing(std::int64_t size, std::int64_t piece) const {
  std::vector<BlobRange> pieces;
  const auto cut = [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += piece) pieces.push_back({begin, std::min(begin + piece, end)});
  };
  std::int64_t at = 0;
  for (const auto& [begin, end] : end_of_) {
    cut(at, std::min(begin, size));
    at = std::max(at, end);
  }
  cut(at, size);
  return pieces;
}

std::string BlobRanges::text() const {
  std::ostringstream out;
  for (const auto& [begin, end] : end_of_) out << begin << ' ' << end << '\n';
  return out.str();
}

BlobRanges BlobRanges::read(std::string_view text, std::int64_t size) {
  std::istringstream in{std::string(text)};
  BlobRanges ranges;
  for (BlobRange range; in >> range.begin >> range.end;) {
    if (range.begin < 0 || range.begin >= range.end || range.end > size) return {};
    ranges.add(range);
  }
  return in.eof() ? ranges : BlobRanges{};
}

}  // namespace foretoken
