#include "kv/radix_cache.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kv/testing/radix_kit.h"

namespace foretoken::radix_cache_test {
namespace {

using namespace radix_kit;

TEST(RadixCache, finds_the_longest_prefix_of_whole_pages) {
  PagePool pool(8);
  RadixCache cache(pool);
  publish(cache, text_of({1, 2, 3}), take(pool, 3));
  EXPECT_EQ(ids(match(cache, text_of({1, 2, 9}))), (std::vector<PageId>{0, 1}));
  Text longer = text_of({1, 2, 3});
  longer.push_back(5);
  EXPECT_EQ(peek(cache, longer), 3 * kPageTokens);
  longer.resize(3 * kPageTokens - 1);
  EXPECT_EQ(peek(cache, longer), 2 * kPageTokens);
  EXPECT_EQ(peek(cache, text_of({2})), 0);
}

TEST(RadixCache, publishes_full_pages_only) {
  PagePool pool(8);
  RadixCache cache(pool);
  Text text = text_of({1, 2});
  text.pop_back();
  publish(cache, text, take(pool, 2));
  EXPECT_EQ(cache.num_pages(), 1);
  EXPECT_EQ(pool.num_free(), 7);
}

TEST(RadixCache, keeps_its_own_page_for_a_prefix_it_knows_and_hands_it_to_the_publisher) {
  PagePool pool(8);
  RadixCache cache(pool);
  publish(cache, text_of({1}), take(pool, 1));
  const auto pages = publish(cache, text_of({1, 2}), take(pool, 2));
  EXPECT_EQ(cache.num_pages(), 2);
  EXPECT_EQ(ids(pages), (std::vector<PageId>{0, 2}));
  EXPECT_EQ(pool.num_free(), 6);
}

TEST(RadixCache, salts_share_nothing) {
  PagePool pool(8);
  RadixCache cache(pool);
  publish(cache, text_of({1}), take(pool, 1), 1);
  EXPECT_EQ(peek(cache, text_of({1}), 1), kPageTokens);
  EXPECT_EQ(peek(cache, text_of({1}), 2), 0);
  EXPECT_EQ(peek(cache, text_of({1})), 0);
}

TEST(RadixCache, evicts_the_least_recently_used_leaf_first) {
  PagePool pool(8);
  RadixCache cache(pool);
  publish(cache, text_of({1, 2}), take(pool, 2));
  publish(cache, text_of({1, 3}), take(pool, 2));
  match(cache, text_of({1, 2}));
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(peek(cache, text_of({1, 2})), 2 * kPageTokens);
  EXPECT_EQ(peek(cache, text_of({1, 3})), kPageTokens);
  EXPECT_EQ(cache.evict(8), 2);
  EXPECT_EQ(pool.num_free(), 8);
}

// The first text's beginning came first, and its end was used last.
TEST(RadixCache, a_node_is_as_young_as_the_youngest_that_hung_on_it) {
  PagePool pool(8);
  RadixCache cache(pool);
  const Text first = text_of({1, 2}), second = text_of({3, 4});
  publish(cache, first, take(pool, 2));
  auto held = publish(cache, second, take(pool, 2));
  held.pop_back();
  match(cache, first);
  EXPECT_EQ(cache.evict(2), 2);  // the second's end, then the first's
  held.clear();
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(peek(cache, first), kPageTokens);
  EXPECT_EQ(peek(cache, second), 0);
}

TEST(RadixCache, a_page_in_use_takes_all_of_its_prefix_from_what_may_be_evicted) {
  PagePool pool(8);
  RadixCache cache(pool);
  auto held = publish(cache, text_of({1, 2, 3, 4}), take(pool, 4));
  held.erase(held.begin(), held.end() - 1);  // nobody else holds what comes before
  EXPECT_EQ(cache.evictable(), 0);
  EXPECT_EQ(cache.check_integrity(), "");
  held.clear();
  EXPECT_EQ(cache.evictable(), 4);
  EXPECT_EQ(cache.check_integrity(), "");
}

TEST(RadixCache, evicting_spares_a_page_in_use_and_its_prefix) {
  PagePool pool(8);
  RadixCache cache(pool);
  publish(cache, text_of({1, 2, 3}), take(pool, 3));
  const auto held = match(cache, text_of({1, 2}))[1];
  EXPECT_EQ(cache.evictable(), 1);
  EXPECT_EQ(cache.evict(8), 1);
  EXPECT_EQ(peek(cache, text_of({1, 2, 3})), 2 * kPageTokens);
}

TEST(RadixCache, clearing_leaves_pages_to_their_other_owners) {
  PagePool pool(4);
  RadixCache cache(pool);
  const auto pages = publish(cache, text_of({1, 2}), take(pool, 2));
  cache.clear();
  EXPECT_EQ(cache.num_pages(), 0);
  EXPECT_EQ(pages[0].owners(), 1);
}

TEST(RadixCache, every_page_there_is_may_end_a_text) {
  constexpr int kAll = 5;
  PagePool pool(kAll);
  RadixCache cache(pool);
  for (Token text = 1; text <= kAll; ++text) publish(cache, text_of({text}), take(pool, 1));
  EXPECT_EQ(cache.check_integrity(), "");
  EXPECT_EQ(cache.evictable(), kAll);
  for (Token text = 1; text <= kAll; ++text) EXPECT_EQ(peek(cache, text_of({text})), kPageTokens);
}

TEST(RadixCache, a_disabled_cache_remembers_nothing) {
  PagePool pool(4);
  RadixCache cache(pool, false);
  publish(cache, text_of({1}), take(pool, 1));
  EXPECT_TRUE(match(cache, text_of({1})).empty());
  EXPECT_EQ(pool.num_free(), 4);
}

TEST(RadixCache, destroys_a_very_long_text_without_recursion) {
  constexpr std::size_t kPages = 200000;
  PagePool pool(kPages);
  RadixCache cache(pool);
  publish(cache, Text(kPages * kPageTokens, 1), take(pool, kPages));
  EXPECT_EQ(cache.num_pages(), static_cast<int>(kPages));
}

// What is counted below are nodes looked at, so the bounds hold on any machine.
class RadixCacheWork : public testing::Test {
 protected:
  static constexpr std::size_t kPages = 4096;

  static Text distinct_pages(std::size_t count, Token first) {
    Text text;
    for (std::size_t i = 0; i < count; ++i)
      text.insert(text.end(), kPageTokens, first + static_cast<Token>(i));
    return text;
  }
  template <typename Action>
  std::uint64_t visits_of(const Action& action) {
    const std::uint64_t before = cache_.visits();
    action();
    return cache_.visits() - before;
  }

  PagePool pool_{kPages + 64};
  RadixCache cache_{pool_};
  const Text document_ = distinct_pages(kPages, 1);
  const PrefixHashes hashes_{document_};
};

TEST_F(RadixCacheWork, evicting_does_not_walk_past_pages_in_use) {
  const auto held = publish(cache_, document_, take(pool_, kPages));
  publish(cache_, text_of({100000}), take(pool_, 1));
  publish(cache_, text_of({100001}), take(pool_, 1));
  int freed = 0;
  EXPECT_LE(visits_of([&] { freed = cache_.evict(1); }), 4U);
  EXPECT_EQ(freed, 1);
  EXPECT_LE(visits_of([&] { freed = cache_.evict(5); }), 4U);
  EXPECT_EQ(freed, 1);
  EXPECT_LE(visits_of([&] { freed = cache_.evict(1); }), 1U);
  EXPECT_EQ(freed, 0);
}

TEST_F(RadixCacheWork, what_may_be_evicted_is_known_without_a_walk) {
  publish(cache_, document_, take(pool_, kPages));
  EXPECT_EQ(visits_of([&] { EXPECT_EQ(cache_.evictable(), static_cast<int>(kPages)); }), 0U);
}

TEST_F(RadixCacheWork, peeking_at_a_long_text_takes_a_few_probes) {
  const auto held = publish(cache_, document_, take(pool_, kPages));
  Text longer = document_;
  longer.insert(longer.end(), kPageTokens, 100000);
  const PrefixHashes hashes(longer);
  const auto look = [&](int guess) {
    EXPECT_EQ(cache_.peek(hashes, hashes.pages(), guess), static_cast<int>(kPages));
  };
  EXPECT_LE(visits_of([&] { look(0); }), 60U);
  EXPECT_LE(visits_of([&] { look(static_cast<int>(kPages)); }), 12U);
  EXPECT_LE(visits_of([&] { look(3); }), 90U);
  EXPECT_LE(visits_of([&] { EXPECT_EQ(cache_.evictable_of(hashes, kPages), 0); }), 12U);
}

TEST_F(RadixCacheWork, publishing_more_of_a_text_costs_only_what_is_new) {
  auto pages = take(pool_, kPages);
  const std::size_t known = kPages - 8;
  cache_.publish(std::span(document_).first(known * kPageTokens), hashes_, pages);
  EXPECT_LE(visits_of([&] { cache_.publish(document_, hashes_, pages, static_cast<int>(known)); }),
            64U);
  EXPECT_EQ(cache_.num_pages(), static_cast<int>(kPages));
  EXPECT_EQ(cache_.check_integrity(), "");
}

TEST_F(RadixCacheWork, giving_a_text_back_costs_one_visit_a_page) {
  auto held = publish(cache_, document_, take(pool_, kPages));
  EXPECT_LE(visits_of([&] { held.clear(); }), kPages + 1);
  EXPECT_EQ(cache_.evictable(), static_cast<int>(kPages));
}

TEST(RadixCache, using_a_text_keeps_all_of_its_pages_young) {
  PagePool pool(16);
  RadixCache cache(pool);
  publish(cache, text_of({1, 2, 3}), take(pool, 3));
  publish(cache, text_of({7, 8}), take(pool, 2));
  const Text first = text_of({1, 2, 3});
  cache.touch(PrefixHashes(first), 3);
  EXPECT_EQ(cache.evict(2), 2);
  EXPECT_EQ(peek(cache, first), 3 * kPageTokens);
  publish(cache, text_of({9}), take(pool, 1));
  EXPECT_EQ(cache.evict(3), 3);  // 1 2 3 together are older than 9, though 9 is a leaf like 3
  EXPECT_EQ(peek(cache, text_of({9})), kPageTokens);
}

TEST(RadixCacheDeathTest, too_few_pages_for_the_text_is_a_bug) {
  PagePool pool(4);
  RadixCache cache(pool);
  EXPECT_DEATH(publish(cache, text_of({1, 2}), take(pool, 1)), "1 pages for 32 tokens");
}

}  // namespace
}  // namespace foretoken::radix_cache_test
