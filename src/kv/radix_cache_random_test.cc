// Random operations beside a model that keeps every prefix.
#include "kv/radix_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kv/testing/radix_kit.h"

namespace foretoken::radix_cache_random_test {
namespace {

using namespace radix_kit;

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

}  // namespace
}  // namespace foretoken::radix_cache_random_test
