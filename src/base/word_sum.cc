#include "base/word_sum.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace foretoken {
namespace {

constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;

// One to one in either argument: a changed word cannot be lost, and by the shift it reaches the
// lower bits, too.
std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * kFactor;
  return sum ^ sum >> 29U;
}

}  // namespace

std::uint64_t word_sum(std::span<const std::byte> bytes) {
  // Sums side by side: one alone would wait for each multiplication.
  constexpr std::size_t kLanes = 8;
  std::array<std::uint64_t, kLanes> sums{1, 2, 3, 4, 5, 6, 7, 8};
  std::array<std::uint64_t, kLanes> words{};
  for (std::size_t i = 0; i < bytes.size(); i += sizeof words) {
    const std::size_t count = std::min(sizeof words, bytes.size() - i);
    if (count < sizeof words) words = {};
    std::memcpy(words.data(), bytes.data() + i, count);
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] = mixed(sums[lane], words[lane]);
  }
  std::uint64_t all = bytes.size();
  for (const std::uint64_t sum : sums) all = mixed(all, sum);
  return all;
}

}  // namespace foretoken
