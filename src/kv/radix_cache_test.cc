#include "kv/radix_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

void publish(RadixCache& cache, const Text& text, std::vector<Page> pages, std::uint64_t salt = 0) {
  cache.publish(text, pages, salt);
}

TEST(RadixCache, finds_the_longest_prefix_of_whole_pages) {
  PagePool pool(8);
  RadixCache cache;
  publish(cache, text_of({1, 2, 3}), take(pool, 3));
  EXPECT_EQ(ids(cache.match(text_of({1, 2, 9}))), (std::vector<PageId>{0, 1}));
  Text longer = text_of({1, 2, 3});
  longer.push_back(5);
  EXPECT_EQ(cache.peek(longer), 3 * kPageTokens);
  longer.resize(3 * kPageTokens - 1);
  EXPECT_EQ(cache.peek(longer), 2 * kPageTokens);
  EXPECT_EQ(cache.peek(text_of({2})), 0);
}

TEST(RadixCache, publishes_full_pages_only) {
  PagePool pool(8);
  RadixCache cache;
  Text text = text_of({1, 2});
  text.pop_back();
  publish(cache, text, take(pool, 2));
  EXPECT_EQ(cache.num_pages(), 1);
  EXPECT_EQ(pool.num_free(), 7);
}

TEST(RadixCache, keeps_its_own_page_for_a_prefix_it_knows_and_hands_it_to_the_publisher) {
  PagePool pool(8);
  RadixCache cache;
  publish(cache, text_of({1}), take(pool, 1));
  auto pages = take(pool, 2);
  cache.publish(text_of({1, 2}), pages);
  EXPECT_EQ(cache.num_pages(), 2);
  EXPECT_EQ(ids(pages), (std::vector<PageId>{0, 2}));
  EXPECT_EQ(pool.num_free(), 6);
}

TEST(RadixCache, salts_share_nothing) {
  PagePool pool(8);
  RadixCache cache;
  publish(cache, text_of({1}), take(pool, 1), 1);
  EXPECT_EQ(cache.peek(text_of({1}), 1), kPageTokens);
  EXPECT_EQ(cache.peek(text_of({1}), 2), 0);
  EXPECT_EQ(cache.peek(text_of({1})), 0);
}

TEST(RadixCache, evicts_the_least_recently_used_leaf_first) {
  PagePool pool(8);
  RadixCache cache;
  publish(cache, text_of({1, 2}), take(pool, 2));
  publish(cache, text_of({1, 3}), take(pool, 2));
  cache.match(text_of({1, 2}));
  EXPECT_EQ(cache.evict(1), 1);
  EXPECT_EQ(cache.peek(text_of({1, 2})), 2 * kPageTokens);
  EXPECT_EQ(cache.peek(text_of({1, 3})), kPageTokens);
  EXPECT_EQ(cache.evict(8), 2);
  EXPECT_EQ(pool.num_free(), 8);
}

TEST(RadixCache, evicting_spares_a_page_in_use_and_its_prefix) {
  PagePool pool(8);
  RadixCache cache;
  publish(cache, text_of({1, 2, 3}), take(pool, 3));
  const auto held = cache.match(text_of({1, 2}))[1];
  EXPECT_EQ(cache.evictable(), 1);
  EXPECT_EQ(cache.evict(8), 1);
  EXPECT_EQ(cache.peek(text_of({1, 2, 3})), 2 * kPageTokens);
}

TEST(RadixCache, clearing_leaves_pages_to_their_other_owners) {
  PagePool pool(4);
  RadixCache cache;
  auto pages = take(pool, 2);
  cache.publish(text_of({1, 2}), pages);
  cache.clear();
  EXPECT_EQ(cache.num_pages(), 0);
  EXPECT_EQ(pages[0].owners(), 1);
}

TEST(RadixCache, a_disabled_cache_remembers_nothing) {
  PagePool pool(4);
  RadixCache cache(false);
  publish(cache, text_of({1}), take(pool, 1));
  EXPECT_TRUE(cache.match(text_of({1})).empty());
  EXPECT_EQ(pool.num_free(), 4);
}

TEST(RadixCache, destroys_a_very_long_text_without_recursion) {
  constexpr std::size_t kPages = 200000;
  PagePool pool(kPages);
  RadixCache cache;
  publish(cache, Text(kPages * kPageTokens, 1), take(pool, kPages));
  EXPECT_EQ(cache.num_pages(), static_cast<int>(kPages));
}

TEST(RadixCacheDeathTest, too_few_pages_for_the_text_is_a_bug) {
  PagePool pool(4);
  RadixCache cache;
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

TEST(RadixCache, agrees_with_a_naive_model_under_random_operations) {
  std::mt19937 random(11);
  constexpr int kPages = 40;
  PagePool pool(kPages);
  RadixCache cache;
  NaiveCache naive;
  std::vector<std::vector<Page>> running;  // what sequences would hold

  for (int i = 0; i < 6000; ++i) {
    std::map<PageId, int> users;
    for (const auto& pages : running)
      for (const Page& page : pages) ++users[page.id()];

    Text text(random() % (5 * kPageTokens), 0);
    for (std::size_t p = 0; p * kPageTokens < text.size(); ++p) {
      const auto value = static_cast<Token>(random() % 2);
      for (std::size_t t = p * kPageTokens; t < std::min(text.size(), (p + 1) * kPageTokens); ++t)
        text[t] = value;
    }

    switch (random() % 4) {
      case 0: {  // a request begins: match, take the rest, publish
        const auto expected = naive.match(text);
        auto pages = cache.match(text);
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
          cache.publish(text, pages);
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
        ASSERT_EQ(cache.peek(text), static_cast<int>(copy.match(text).size()) * kPageTokens);
      }
    }
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

}  // namespace
}  // namespace foretoken
