#pragma once
// Texts, pages and calls of a prefix cache in short, for its tests.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kv/radix_cache.h"

namespace foretoken::radix_kit {

using Text = std::vector<Token>;

// Text of whole pages: page i holds kPageTokens times values[i].
inline Text text_of(std::initializer_list<Token> values) {
  Text text;
  for (const Token value : values) text.insert(text.end(), kPageTokens, value);
  return text;
}

inline std::vector<Page> take(PagePool& pool, std::size_t count) {
  std::vector<Page> pages;
  for (std::size_t i = 0; i < count; ++i) pages.push_back(*pool.take());
  return pages;
}

inline std::vector<PageId> ids(const std::vector<Page>& pages) {
  std::vector<PageId> out;
  for (const Page& page : pages) out.push_back(page.id());
  return out;
}

// Publishes the pages of a text. Returns the pages that the caller holds afterwards.
inline std::vector<Page> publish(RadixCache& cache, const Text& text, std::vector<Page> pages,
                                 std::uint64_t salt = 0) {
  cache.publish(text, PrefixHashes(text, salt), pages);
  return pages;
}

inline std::vector<Page> match(RadixCache& cache, const Text& text, std::uint64_t salt = 0) {
  return cache.match(text, PrefixHashes(text, salt));
}

// In tokens.
inline int peek(const RadixCache& cache, const Text& text, std::uint64_t salt = 0) {
  const PrefixHashes hashes(text, salt);
  return cache.peek(hashes, hashes.pages()) * kPageTokens;
}

}  // namespace foretoken::radix_kit
