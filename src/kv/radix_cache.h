#pragma once
// RadixCache: finished and running text by prefix, one tree node per full page of kPageTokens
// tokens, so that a new request can reuse the pages of any earlier text that begins like it. Not
// aware of models or KV contents. Eviction: least recently used leaf whose page has no owner but
// the cache. Engine thread only; the pool outlives the cache. Invariants: a child's last use is not
// newer than its parent's; each node holds exactly one page.

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "kv/page_pool.h"

namespace foretoken {

class RadixCache {
 public:
  explicit RadixCache(bool enabled = true);
  ~RadixCache();

  // Pages of the longest cached prefix of `tokens` (whole pages only); marks them used now.
  // `salt` separates name spaces: equal texts under different salts share nothing.
  std::vector<Page> match(std::span<const Token> tokens, std::uint64_t salt = 0);

  // Length in tokens that match() would return; marks nothing.
  int peek(std::span<const Token> tokens, std::uint64_t salt = 0) const;

  // Makes the full pages of `tokens` findable; pages.size() >= tokens.size() / kPageTokens. Where
  // the cache already holds a page for a prefix, it keeps its own, and pages[i] becomes that one:
  // equal text has equal KV to the bit, so the copy is worth nothing. Whoever owns a page in the
  // cache thus owns its prefix in the cache too, and no copy stays because of what hangs on it.
  void publish(std::span<const Token> tokens, std::span<Page> pages, std::uint64_t salt = 0);

  // Releases up to `pages` pages, least recently used first; returns how many became free.
  int evict(int pages);
  // Pages that evict() could free now.
  int evictable() const;
  void clear();
  int num_pages() const;  // held by the cache

  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  struct Node;
  Node* find(Node& parent, std::span<const Token> page, std::uint64_t salt) const;
  void touch(std::span<Node* const> path);
  void remove(Node& leaf);

  std::unique_ptr<Node> root_;  // holds no page
  // Most recently used first; a child stands behind its parent, so the list read from its end
  // meets children before parents.
  std::list<Node*> recency_;
  bool enabled_;
};

}  // namespace foretoken
