// Texts whose pages end in states of layers.
#include "kv/radix_cache.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "kv/testing/radix_kit.h"

namespace foretoken::radix_cache_states_test {
namespace {

using namespace radix_kit;

// Text whose pages end in states where `kept` says so.
void publish_with_states(RadixCache& cache, PagePool& pool, const Text& text,
                         const std::vector<int>& kept) {
  const auto pages = publish(cache, text, take(pool, text.size() / kPageTokens));
  for (const int page : kept) cache.keep_state(pages[at(page)].id(), cache.take_state());
}

TEST(RadixCache, a_text_goes_on_only_where_its_state_was_kept) {
  PagePool pool(16), snapshots(4);
  RadixCache cache(pool, true, &snapshots);
  publish_with_states(cache, pool, text_of({1, 2, 3, 4, 5, 6}), {1, 3});
  const auto pages_of = [&](const Text& text) {
    const PrefixHashes hashes(text);
    const int pages = cache.peek(hashes, hashes.pages());
    const auto found = match(cache, text);
    EXPECT_EQ(cache.with_state(hashes, pages), std::ssize(found));
    if (!found.empty()) {
      EXPECT_TRUE(cache.state_behind(found.back().id()));
    }
    return found.size();
  };
  EXPECT_EQ(pages_of(text_of({1, 2, 3, 4, 5, 6, 7})), 4U);
  EXPECT_EQ(pages_of(text_of({1, 2, 3, 9})), 2U);
  EXPECT_EQ(pages_of(text_of({1, 9})), 0U);
  EXPECT_EQ(pages_of(text_of({9})), 0U);
  EXPECT_EQ(cache.check_integrity(), "");
}

TEST(RadixCache, the_state_that_was_not_used_for_longest_is_given_up_first) {
  PagePool pool(16), snapshots(3);
  RadixCache cache(pool, true, &snapshots);
  for (const Token text : {1, 2, 3}) publish_with_states(cache, pool, text_of({text, text}), {1});
  EXPECT_EQ(match(cache, text_of({1, 1})).size(), 2U);
  publish_with_states(cache, pool, text_of({4, 4}), {1});
  EXPECT_EQ(match(cache, text_of({2, 2})).size(), 0U);
  for (const Token text : {1, 3, 4}) EXPECT_EQ(match(cache, text_of({text, text})).size(), 2U);
  EXPECT_EQ(cache.check_integrity(), "");
}

TEST(RadixCache, states_go_with_their_pages_and_are_never_more_than_there_is_memory_for) {
  PagePool pool(8), snapshots(2);
  RadixCache cache(pool, true, &snapshots);
  publish_with_states(cache, pool, text_of({1, 2}), {0, 1});
  EXPECT_EQ(snapshots.num_free(), 0);
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(snapshots.num_free(), 1);
  EXPECT_EQ(cache.check_integrity(), "");
  {
    const Page first = cache.take_state(), second = cache.take_state();  // of running texts
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(cache.take_state());
    EXPECT_EQ(match(cache, text_of({1})).size(), 0U);
  }
  publish_with_states(cache, pool, text_of({3}), {0});
  cache.clear();
  EXPECT_EQ(snapshots.num_free(), 2);
  EXPECT_EQ(cache.check_integrity(), "");
}

TEST(RadixCache, a_state_that_is_kept_twice_is_kept_once) {
  PagePool pool(8), snapshots(3);
  RadixCache cache(pool, true, &snapshots);
  publish_with_states(cache, pool, text_of({1, 2}), {1});
  publish_with_states(cache, pool, text_of({1, 2}), {1});
  EXPECT_EQ(snapshots.num_free(), 2);
  EXPECT_EQ(cache.check_integrity(), "");
}

}  // namespace
}  // namespace foretoken::radix_cache_states_test
