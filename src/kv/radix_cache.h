#pragma once
// RadixCache: finished and running text by prefix, one tree node per full page of kPageTokens
// tokens, so that a new request can reuse the pages of any earlier text that begins like it. Not
// aware of models or KV contents. Eviction: least recently used leaf whose page has no owner but
// the cache. No call costs more for a fuller cache: the pool tells when a page gets or loses its
// other owners, so what may be evicted is known at any time. Engine thread only; the pool outlives
// the cache. Invariants: each node holds exactly one page, and is pinned, that is may not be
// evicted, when its page has another owner or one of its children is pinned.
//
// Of models whose layers keep a state, a text can go on only where its state was kept, too: nodes
// may hold a snapshot of it, whose number is from a pool of its own. Then match() finds prefixes
// that end in a snapshot. Where snapshots run short, the least recently used one is given up; with
// its node it goes in any case.

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/index.h"
#include "base/types.h"
#include "kv/page_pool.h"
#include "kv/prefix_hashes.h"

namespace foretoken {

class RadixCache final : private PageWatcher {
 public:
  // snapshots: of states, which outlive the cache; null: the model keeps none.
  explicit RadixCache(PagePool& pool, bool enabled = true, PagePool* snapshots = nullptr);
  ~RadixCache();
  RadixCache(const RadixCache&) = delete;
  RadixCache& operator=(const RadixCache&) = delete;

  // Pages of the longest cached prefix of `tokens` (whole pages only); marks them used now.
  // `hashes` are those of a text that begins with `tokens`, here and below.
  std::vector<Page> match(std::span<const Token> tokens, const PrefixHashes& hashes);

  // How many of the first `pages` pages of a text match() would find: from the hashes alone, in a
  // few probes where `guess` is not far from the truth. Marks nothing.
  int peek(const PrefixHashes& hashes, int pages, int guess = 0) const;
  // How many of the first `pages` pages of a text, which are here, evict() could free now.
  int evictable_of(const PrefixHashes& hashes, int pages) const;
  bool holds(std::uint64_t prefix_hash) const { return find(prefix_hash) != kNone; }
  // Marks the first `pages` pages of a text used now, if they are here.
  void touch(const PrefixHashes& hashes, int pages);

  // Makes the full pages of `tokens` findable; pages.size() >= tokens.size() / kPageTokens. Where
  // the cache already holds a page for a prefix, it keeps its own, and pages[i] becomes that one:
  // equal text has equal KV to the bit, so the copy is worth nothing. Whoever owns a page in the
  // cache thus owns its prefix in the cache too, and no copy stays because of what hangs on it.
  // The first `known` pages are the cache's own, as match() or publish() left them, and held since.
  void publish(std::span<const Token> tokens, const PrefixHashes& hashes, std::span<Page> pages,
               int known = 0);

  // ---- states
  bool needs_states() const { return snapshots_ != nullptr; }
  // How many of the first `pages` pages of a text, which are here, match() would find.
  int with_state(const PrefixHashes& hashes, int pages) const;
  // The snapshot behind a page that match() found last; empty: it needs none.
  Page state_behind(PageId page) const { return needs_states() ? node(page).state : Page(); }
  // A snapshot to be filled; empty where all are in use.
  Page take_state();
  // The state behind a page that is held. One that is there already stays: they are equal.
  void keep_state(PageId page, Page state);

  // Releases up to `pages` pages, least recently used first; returns how many became free.
  int evict(int pages);
  // Pages that evict() could free now.
  int evictable() const { return evictable_; }
  void clear();
  int num_pages() const { return num_pages_; }  // held by the cache

  // Nodes looked at since the start: what tests bound instead of time.
  std::uint64_t visits() const { return visits_; }

  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  static constexpr PageId kNone = -1;
  struct Node {
    Page page;              // empty: the page of this number is not in the cache
    Page state = {};        // behind the page; empty: it was not kept
    PageId parent = kNone;  // kNone: the first page of a text
    PageId next_in_bucket = kNone;
    PageId latest_child = kNone;  // a hint, looked at first: may be somebody else by now
    std::int32_t children = 0;
    std::int32_t pinned_children = 0;
    std::uint64_t hash = 0;
    std::uint64_t salt = 0;
    std::uint64_t last_use = 0;  // of itself; a removed child hands its own to its parent
    std::array<Token, kPageTokens> tokens{};
  };

  void page_shared(PageId page) override;
  void page_alone(PageId page) override;

  Node& node(PageId page) { return nodes_[at(page)]; }
  const Node& node(PageId page) const { return nodes_[at(page)]; }
  bool is_held(PageId page) const { return static_cast<bool>(node(page).page); }
  bool is_pinned(PageId page) const;
  std::size_t bucket(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }

  // What distinguishes a node from all others.
  struct Key {
    PageId parent;
    std::uint64_t hash;
    std::uint64_t salt;
    std::span<const Token> tokens;
  };
  bool is_at(PageId page, const Key& key) const;
  PageId find(std::uint64_t hash) const;
  PageId find(const Key& key) const;
  void insert(const Page& page, const Key& key);
  void remove(PageId leaf);
  void stamp(PageId page);
  void pin(PageId page);
  void unpin(PageId page);
  void list(PageId page);
  void unlist(PageId page);
  void drop_state(PageId page);
  void use_state(PageId page);
  std::string check_node(PageId page) const;
  std::string check_states() const;

  // Of a snapshot: the node that holds it, and when it was used.
  struct StateUse {
    PageId node = kNone;
    std::uint64_t last = 0;
  };

  PagePool& pool_;
  PagePool* const snapshots_;
  const bool enabled_;
  std::vector<Node> nodes_;       // by page
  std::vector<StateUse> states_;  // by snapshot
  std::vector<PageId> buckets_;   // a hash table through next_in_bucket; a power of two
  using Leaves = std::set<std::pair<std::uint64_t, PageId>>;
  Leaves evictable_leaves_;  // by last use
  // One for each page that is not listed: handles to pages are released where nothing may fail.
  std::vector<Leaves::node_type> unlisted_;
  std::uint64_t now_ = 0;
  int num_pages_ = 0;
  int evictable_ = 0;  // nodes that are not pinned
  mutable std::uint64_t visits_ = 0;
};

}  // namespace foretoken
