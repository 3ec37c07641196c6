#include "kv/radix_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"

namespace foretoken {
namespace {

using Text = std::vector<Token>;

// Text of whole pages: page i holds kPageTokens times values[i].
Text text_of(std::initializer_list<Token> values) {
  Text text;
  for (const Token value : values) text.insert(text.end(), kPageTokens, value);
  return text;
}

std::vector<Page> take(PagePool& pool, std::size_t count) {
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) pages.push_back(*pool.take());
  return pages;
}

std::vector<PageId> ids(const std::vector<Page>& pages) {
  std::vector<PageId> out;
  for (const Page& page : pages) out.push_back(page.id());
  return out;
}

// Whoever publishes gets the pages back that it has afterwards.
std::vector<Page> publish(RadixCache& cache, const Text& text, std::vector<Page> pages,
                          std::uint64_t salt = 0) {
  cache.publish(text, PrefixHashes(text, salt), pages);
  return pages;
}

std::vector<Page> match(RadixCache& cache, const Text& text, std::uint64_t salt = 0) {
  return cache.match(text, PrefixHashes(text, salt));
}

// In tokens.
int peek(const RadixCache& cache, const Text& text, std::uint64_t salt = 0) {
  const PrefixHashes hashes(text, salt);
  return cache.peek(hashes, hashes.pages()) * kPageTokens;
}

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

// The naive model: every published prefix with its page and the time of its last use.
class NaiveCache {
 public:
  struct Entry {
    PageId page;
    int last_use;
  };

  std::vector<PageId> match(const Text& text) {
    ++now_;
    std::vector<PageId> pages;
    for (std::size_t n = 1; n <= text.size() / kPageTokens; ++n) {
      const auto entry = entries_.find(prefix(text, n));
      if (entry == entries_.end()) break;
      entry->second.last_use = now_;
      pages.push_back(entry->second.page);
    }
    return pages;
  }

  // Returns the pages that the publisher has afterwards.
  std::vector<PageId> publish(const Text& text, std::vector<PageId> pages) {
    ++now_;
    for (std::size_t n = 1; n <= text.size() / kPageTokens; ++n) {
      auto [entry, is_new] = entries_.try_emplace(prefix(text, n), Entry{pages[n - 1], now_});
      entry->second.last_use = now_;
      pages[n - 1] = entry->second.page;
    }
    return pages;
  }

  // Leaves that nobody else holds, oldest use first; longest first among equals.
  int evict(int count, const std::map<PageId, int>& users) {
    int freed = 0;
    while (freed < count) {
      const Text* oldest = nullptr;
      for (const auto& [text, entry] : entries_)
        if (is_leaf(text) && !users.contains(entry.page) &&
            (!oldest || entry.last_use < entries_.at(*oldest).last_use))
          oldest = &text;
      if (!oldest) break;
      entries_.erase(Text(*oldest));
      ++freed;
    }
    return freed;
  }

  int evictable(const std::map<PageId, int>& users) const {
    NaiveCache copy = *this;
    return copy.evict(1 << 20, users);
  }

  // Of a path's pages, those at its end that nobody holds, nor anything below them.
  int evictable_of(const std::vector<PageId>& path, const std::map<PageId, int>& users) const {
    NaiveCache copy = *this;
    copy.evict(1 << 20, users);
    return static_cast<int>(
        std::count_if(path.begin(), path.end(), [&](PageId page) { return !copy.holds(page); }));
  }

  int num_pages() const { return static_cast<int>(entries_.size()); }
  bool holds(PageId page) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const auto& item) { return item.second.page == page; });
  }

 private:
  static Text prefix(const Text& text, std::size_t pages) {
    return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(pages * kPageTokens)};
  }
  bool is_leaf(const Text& text) const {
    const auto next = std::next(entries_.find(text));
    return next == entries_.end() || next->first.size() <= text.size() ||
           !std::equal(text.begin(), text.end(), next->first.begin());
  }

  std::map<Text, Entry> entries_;
  int now_ = 0;
};

std::map<PageId, int> used_by(const std::vector<std::vector<Page>>& running) {
  std::map<PageId, int> users;
  for (const auto& pages : running)
    for (const Page& page : pages) ++users[page.id()];
  return users;
}

TEST(RadixCache, agrees_with_a_naive_model_under_random_operations) {
  std::mt19937 random(11);
  constexpr int kPages = 40;
  PagePool pool(kPages);
  RadixCache cache(pool);
  NaiveCache naive;
  std::vector<std::vector<Page>> running;  // what sequences would hold

  for (int i = 0; i < 6000; ++i) {
    const std::map<PageId, int> users = used_by(running);

    Text text(random() % (5 * kPageTokens), 0);
    for (std::size_t p = 0; p * kPageTokens < text.size(); ++p) {
      const auto value = static_cast<Token>(random() % 2);
      for (std::size_t t = p * kPageTokens; t < std::min(text.size(), (p + 1) * kPageTokens); ++t)
        text[t] = value;
    }

    switch (random() % 4) {
      case 0: {  // a request begins: match, take the rest, publish
        const auto expected = naive.match(text);
        auto pages = match(cache, text);
        ASSERT_EQ(ids(pages), expected);
        if (random() % 2) pages.clear();  // computed it itself all the same
        const auto full = text.size() / kPageTokens;
        while (pages.size() < full) {
          auto page = pool.take();
          if (!page) break;
          pages.push_back(std::move(*page));
        }
        if (pages.size() == full) {
          const auto expected_pages = naive.publish(text, ids(pages));
          pages = publish(cache, text, std::move(pages));
          ASSERT_EQ(ids(pages), expected_pages);
        }
        running.push_back(std::move(pages));
        break;
      }
      case 1:
        if (!running.empty()) {
          std::swap(running[random() % running.size()], running.back());
          running.pop_back();
        }
        break;
      case 2: {
        const int count = static_cast<int>(random() % 4);
        ASSERT_EQ(cache.evictable(), naive.evictable(users));
        ASSERT_EQ(cache.evict(count), naive.evict(count, users));
        break;
      }
      default: {
        NaiveCache copy = naive;
        const auto expected = copy.match(text);
        const PrefixHashes hashes(text);
        const auto guess = static_cast<int>(random() % 6);
        const int found = cache.peek(hashes, hashes.pages(), guess);
        ASSERT_EQ(found, static_cast<int>(expected.size()));
        ASSERT_EQ(cache.evictable_of(hashes, found), naive.evictable_of(expected, users));
      }
    }
    ASSERT_EQ(cache.evictable(), naive.evictable(used_by(running)));
    ASSERT_EQ(cache.num_pages(), naive.num_pages());
    ASSERT_EQ(cache.check_integrity(), "");
    ASSERT_EQ(pool.check_integrity(), "");
    for (PageId page = 0; page < kPages; ++page) {
      int expected = naive.holds(page) ? 1 : 0;
      for (const auto& pages : running)
        for (const Page& held : pages) expected += held.id() == page ? 1 : 0;
      ASSERT_EQ(pool.owners(page), expected);
    }
  }
}

// ---- states

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
}  // namespace foretoken
