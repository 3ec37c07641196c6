#include "base/word_sum.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  return bytes;
}

TEST(WordSum, every_changed_bit_changes_it) {
  for (const std::size_t count : {1U, 7U, 64U, 65U, 200U}) {
    auto bytes = numbered(count);
    const std::uint64_t sum = word_sum(bytes);
    for (std::size_t bit = 0; bit < 8 * count; ++bit) {
      const auto flip = static_cast<std::byte>(1U << bit % 8);
      bytes[bit / 8] ^= flip;
      EXPECT_NE(word_sum(bytes), sum) << bit;
      bytes[bit / 8] ^= flip;
    }
    EXPECT_EQ(word_sum(bytes), sum);
  }
}

TEST(WordSum, lengths_of_zeros_differ) {
  const std::vector<std::byte> zeros(300);
  std::set<std::uint64_t> sums;
  for (std::size_t count = 0; count <= zeros.size(); ++count)
    sums.insert(word_sum(std::span(zeros).first(count)));
  EXPECT_EQ(sums.size(), zeros.size() + 1);
}

// The highest bits of two words of one lane: multiplication alone would let them cancel.
TEST(WordSum, two_changes_do_not_cancel) {
  auto bytes = numbered(256);
  const std::uint64_t sum = word_sum(bytes);
  bytes[7] ^= std::byte{0x80};
  bytes[71] ^= std::byte{0x80};
  EXPECT_NE(word_sum(bytes), sum);
}

TEST(WordSum, swapped_blocks_differ) {
  auto bytes = numbered(256);
  const std::uint64_t sum = word_sum(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 64, bytes.begin() + 64);
  EXPECT_NE(word_sum(bytes), sum);
}

// Files hold sums: another function needs another version of their format.
TEST(WordSum, is_what_it_was) {
  EXPECT_EQ(word_sum({}), 649744161889906900ULL);
  EXPECT_EQ(word_sum(numbered(1000)), 11555610388456672445ULL);
}

}  // namespace
}  // namespace foretoken
