#include "kv/prefix_hashes.h"

#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::vector<Token> count_up(int size) {
  std::vector<Token> text;
  for (int i = 0; i < size; ++i) text.push_back(i);
  return text;
}

TEST(PrefixHashes, hashes_full_pages_and_grows_with_the_text) {
  const auto text = count_up(3 * kPageTokens + 5);
  const PrefixHashes whole(text);
  EXPECT_EQ(whole.pages(), 3);
  PrefixHashes grown(std::span<const Token>(text).first(kPageTokens + 1));
  EXPECT_EQ(grown.pages(), 1);
  grown.extend(text);
  ASSERT_EQ(grown.pages(), 3);
  for (int pages = 1; pages <= 3; ++pages) EXPECT_EQ(grown.of(pages), whole.of(pages));
}

TEST(PrefixHashes, a_hash_is_of_the_whole_prefix_and_of_the_salt) {
  const auto text = count_up(4 * kPageTokens);
  const PrefixHashes hashes(text);
  for (const std::size_t changed : {0, 1, 15, 16, 47, 63}) {
    auto other = text;
    other[changed] += 1000;
    const int page = static_cast<int>(changed) / kPageTokens;
    EXPECT_EQ(hashes.common_pages(PrefixHashes(other), 4), page);
    EXPECT_NE(hashes.of(4), PrefixHashes(other).of(4));
  }
  EXPECT_EQ(hashes.common_pages(PrefixHashes(text), 4), 4);
  EXPECT_EQ(hashes.common_pages(PrefixHashes(text), 2), 2);
  EXPECT_EQ(hashes.common_pages(PrefixHashes(text, 1), 4), 0);
}

TEST(LargestThat, finds_the_border_from_any_guess) {
  for (int limit = 0; limit <= 20; ++limit)
    for (int answer = 0; answer <= limit; ++answer)
      for (int guess = -1; guess <= limit + 2; ++guess)
        ASSERT_EQ(largest_that(limit, guess, [&](int n) { return n <= answer; }), answer)
            << "limit " << limit << ", guess " << guess;
}

TEST(LargestThat, needs_two_probes_for_a_good_guess_and_few_for_a_bad_one) {
  const auto probes = [](int limit, int answer, int guess) {
    int count = 0;
    largest_that(limit, guess, [&](int n) { return ++count, n <= answer; });
    return count;
  };
  EXPECT_LE(probes(100000, 3125, 3125), 2);
  EXPECT_LE(probes(100000, 3130, 3125), 8);
  EXPECT_LE(probes(100000, 100000, 0), 17);
  EXPECT_LE(probes(100000, 100000, 1), 36);
}

}  // namespace
}  // namespace foretoken
