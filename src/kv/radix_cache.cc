#include "kv/radix_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

std::span<const Token> page_of(std::span<const Token> tokens, int index) {
  return tokens.subspan(at(index) * kPageTokens, kPageTokens);
}

}  // namespace

RadixCache::RadixCache(PagePool& pool, bool enabled, PagePool* snapshots)
    : pool_(pool), snapshots_(enabled ? snapshots : nullptr), enabled_(enabled) {
  if (needs_states()) states_.resize(at(snapshots_->num_pages()));
  if (enabled) nodes_.resize(at(pool.num_pages()));
  unlisted_.reserve(nodes_.size());
  for (PageId page = 0; page < static_cast<PageId>(nodes_.size()); ++page)
    unlisted_.push_back(evictable_leaves_.extract(evictable_leaves_.emplace(0, page).first));
  buckets_.assign(std::bit_ceil(nodes_.size() + 1), kNone);
  if (enabled) pool_.watch(this);
}

RadixCache::~RadixCache() {
  clear();
  if (enabled_) pool_.watch(nullptr);
}

// ---- finding

PageId RadixCache::find(std::uint64_t hash) const {
  PageId page = buckets_[bucket(hash)];
  for (; page != kNone && node(page).hash != hash; page = node(page).next_in_bucket) ++visits_;
  ++visits_;
  return page;
}

bool RadixCache::is_at(PageId page, const Key& key) const {
  ++visits_;
  const Node& found = node(page);
  return is_held(page) && found.hash == key.hash && found.parent == key.parent &&
         found.salt == key.salt &&
         std::equal(key.tokens.begin(), key.tokens.end(), found.tokens.begin());
}

// The pages of a long text often lie one behind the other, unlike the buckets of their hashes.
PageId RadixCache::find(const Key& key) const {
  const PageId hint = key.parent == kNone ? kNone : node(key.parent).latest_child;
  if (hint != kNone && is_at(hint, key)) return hint;
  PageId page = buckets_[bucket(key.hash)];
  while (page != kNone && !is_at(page, key)) page = node(page).next_in_bucket;
  return page;
}

std::vector<Page> RadixCache::match(std::span<const Token> tokens, const PrefixHashes& hashes) {
  std::vector<Page> pages;
  PageId last = kNone;
  const int full = static_cast<int>(tokens.size()) / kPageTokens;
  for (int i = 0; i < full; ++i) {
    const PageId page = find(Key{last, hashes.of(i + 1), hashes.salt(), page_of(tokens, i)});
    if (page == kNone) break;
    pages.push_back(node(page).page);
    last = page;
  }
  if (needs_states())
    for (; last != kNone && !node(last).state; last = node(last).parent) pages.pop_back();
  if (last == kNone) return pages;
  stamp(last);
  if (needs_states()) use_state(last);
  return pages;
}

int RadixCache::peek(const PrefixHashes& hashes, int pages, int guess) const {
  return largest_that(pages, guess, [&](int count) { return holds(hashes.of(count)); });
}

int RadixCache::with_state(const PrefixHashes& hashes, int pages) const {
  if (!needs_states() || pages == 0) return pages;
  for (PageId page = find(hashes.of(pages)); page != kNone; page = node(page).parent, --pages) {
    ++visits_;
    if (node(page).state) return pages;
  }
  return 0;
}

// A pinned node's parent is pinned too, so the pinned ones come first.
int RadixCache::evictable_of(const PrefixHashes& hashes, int pages) const {
  const auto is_pinned_at = [&](int count) {
    const PageId page = find(hashes.of(count));
    return page != kNone && is_pinned(page);
  };
  if (pages == 0 || !is_pinned_at(1)) return pages;
  return pages - largest_that(pages, pages, is_pinned_at);
}

void RadixCache::touch(const PrefixHashes& hashes, int pages) {
  if (pages == 0) return;
  if (const PageId page = find(hashes.of(pages)); page != kNone) stamp(page);
}

// A use of a node is one of all nodes above it. They learn of it when what hangs on them is gone,
// before which nobody asks.
void RadixCache::stamp(PageId page) {
  const bool is_listed = node(page).children == 0 && !is_pinned(page);
  if (is_listed) unlist(page);
  node(page).last_use = ++now_;
  if (is_listed) list(page);
}

// ---- what comes and goes

void RadixCache::publish(std::span<const Token> tokens, const PrefixHashes& hashes,
                         std::span<Page> pages, int known) {
  const int full = static_cast<int>(tokens.size()) / kPageTokens;
  CHECK(static_cast<int>(pages.size()) >= full)
      << pages.size() << " pages for " << tokens.size() << " tokens";
  if (!enabled_ || full == 0) return;
  const auto page_at = [&](int i) -> Page& { return pages[at(i)]; };
  CHECK(known <= full && (known == 0 || is_held(page_at(known - 1).id())))
      << known << " pages are said to be known";
  PageId last = known > 0 ? page_at(known - 1).id() : kNone;
  for (int i = known; i < full; ++i) {
    const Key key{last, hashes.of(i + 1), hashes.salt(), page_of(tokens, i)};
    const PageId own = find(key);
    if (own == kNone)
      insert(page_at(i), key);
    else if (own != page_at(i).id())
      page_at(i) = node(own).page;
    last = page_at(i).id();
  }
  stamp(last);
}

void RadixCache::insert(const Page& page, const Key& key) {
  const PageId id = page.id();
  CHECK(!is_held(id)) << "page " << id << " stands for two texts";
  Node& added = node(id);
  added.page = page;
  added.parent = key.parent;
  added.hash = key.hash;
  added.salt = key.salt;
  added.last_use = now_;
  std::copy_n(key.tokens.begin(), kPageTokens, added.tokens.begin());
  added.next_in_bucket = std::exchange(buckets_[bucket(key.hash)], id);
  ++num_pages_;
  ++evictable_;
  if (key.parent != kNone) {
    Node& parent = node(key.parent);
    parent.latest_child = id;
    if (parent.children++ == 0 && !is_pinned(key.parent)) unlist(key.parent);
  }
  list(id);
  if (pool_.owners(id) > 1) pin(id);
}

// Of a leaf that is not pinned.
void RadixCache::remove(PageId leaf) {
  Node& gone = node(leaf);
  unlist(leaf);
  PageId* link = &buckets_[bucket(gone.hash)];
  for (; *link != leaf; link = &node(*link).next_in_bucket) ++visits_;
  *link = gone.next_in_bucket;
  --num_pages_;
  --evictable_;
  if (gone.parent != kNone) {
    Node& parent = node(gone.parent);
    parent.last_use = std::max(parent.last_use, gone.last_use);
    if (--parent.children == 0 && !is_pinned(gone.parent)) list(gone.parent);
  }
  drop_state(leaf);
  gone = Node{};  // the page becomes free
}

int RadixCache::evict(int pages) {
  int freed = 0;
  for (; freed < pages && !evictable_leaves_.empty(); ++freed) {
    ++visits_;
    remove(evictable_leaves_.begin()->second);
  }
  return freed;
}

void RadixCache::list(PageId page) {
  Leaves::node_type leaf = std::move(unlisted_.back());
  unlisted_.pop_back();
  leaf.value() = {node(page).last_use, page};
  evictable_leaves_.insert(std::move(leaf));
}

void RadixCache::unlist(PageId page) {
  unlisted_.push_back(evictable_leaves_.extract({node(page).last_use, page}));
}

void RadixCache::clear() {
  while (!evictable_leaves_.empty())
    unlisted_.push_back(evictable_leaves_.extract(evictable_leaves_.begin()));
  std::ranges::fill(buckets_, kNone);
  num_pages_ = evictable_ = 0;
  for (Node& held : nodes_) {
    const Page page = std::exchange(held.page, Page{});  // released when it is no node any more
    held = Node{};
  }
  std::ranges::fill(states_, StateUse{});
}

// ---- states

void RadixCache::use_state(PageId page) { states_[at(node(page).state.id())].last = ++now_; }

void RadixCache::drop_state(PageId page) {
  const Page state = std::exchange(node(page).state, Page{});
  if (state) states_[at(state.id())] = {};
}

Page RadixCache::take_state() {
  if (!needs_states()) return {};
  if (snapshots_->num_free() == 0) {
    StateUse oldest;
    for (const StateUse& use : states_)
      if (use.node != kNone && (oldest.node == kNone || use.last < oldest.last)) oldest = use;
    if (oldest.node != kNone) drop_state(oldest.node);
  }
  return snapshots_->take().value_or(Page());
}

void RadixCache::keep_state(PageId page, Page state) {
  CHECK(is_held(page)) << "a state of page " << page << ", which is not in the cache";
  if (!node(page).state) {
    states_[at(state.id())].node = page;
    node(page).state = std::move(state);
  }
  use_state(page);
}

// ---- who else owns a page

bool RadixCache::is_pinned(PageId page) const {
  return pool_.owners(page) > 1 || node(page).pinned_children > 0;
}

void RadixCache::page_shared(PageId page) {
  if (is_held(page) && node(page).pinned_children == 0) pin(page);
}

void RadixCache::page_alone(PageId page) {
  if (is_held(page) && node(page).pinned_children == 0) unpin(page);
}

// `page` has just become pinned, and with it what was not pinned above it.
void RadixCache::pin(PageId page) {
  for (;;) {
    ++visits_;
    --evictable_;
    if (node(page).children == 0) unlist(page);
    page = node(page).parent;
    if (page == kNone || node(page).pinned_children++ > 0 || pool_.owners(page) > 1) return;
  }
}

void RadixCache::unpin(PageId page) {
  for (;;) {
    ++visits_;
    ++evictable_;
    if (node(page).children == 0) list(page);
    page = node(page).parent;
    if (page == kNone || --node(page).pinned_children > 0 || pool_.owners(page) > 1) return;
  }
}

// ---- integrity

std::string RadixCache::check_node(PageId page) const {
  const Node& own = node(page);
  const std::string name = "node of page " + std::to_string(page);
  if (own.page.id() != page) return name + " holds another page";
  if (own.parent != kNone && !is_held(own.parent)) return name + " hangs on a page that is gone";
  PageId found = buckets_[bucket(own.hash)];
  while (found != kNone && found != page) found = node(found).next_in_bucket;
  if (found == kNone) return name + " cannot be found";
  const bool may_be_listed = own.children == 0 && !is_pinned(page);
  if (evictable_leaves_.contains({own.last_use, page}) != may_be_listed)
    return name + (may_be_listed ? " is missing among" : " is listed wrongly among") +
           " the leaves that may be evicted";
  return {};
}

std::string RadixCache::check_states() const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PageId holder = states_[i].node;
    if (holder != kNone && (!is_held(holder) || node(holder).state.id() != static_cast<PageId>(i)))
      return "snapshot " + std::to_string(i) + " is not held by the node that it is said to be of";
  }
  return {};
}

std::string RadixCache::check_integrity() const {
  if (auto fault = check_states(); !fault.empty()) return fault;
  std::vector<int> children(nodes_.size(), 0), pinned(nodes_.size(), 0);
  int held = 0, evictable = 0, leaves = 0;
  for (PageId page = 0; page < static_cast<PageId>(nodes_.size()); ++page) {
    if (!is_held(page)) continue;
    if (auto fault = check_node(page); !fault.empty()) return fault;
    if (node(page).state && states_[at(node(page).state.id())].node != page)
      return "the node of page " + std::to_string(page) + " holds a snapshot that is not its own";
    ++held;
    if (!is_pinned(page)) ++evictable;
    if (!is_pinned(page) && node(page).children == 0) ++leaves;
    if (node(page).parent == kNone) continue;
    const auto parent = at(node(page).parent);
    ++children[parent];
    if (is_pinned(page)) ++pinned[parent];
  }
  for (PageId page = 0; page < static_cast<PageId>(nodes_.size()); ++page) {
    const Node& own = node(page);
    if (own.children != children[at(page)] || own.pinned_children != pinned[at(page)])
      return "node of page " + std::to_string(page) + " counts its children wrongly";
  }
  if (held != num_pages_ || evictable != evictable_ ||
      leaves != static_cast<int>(evictable_leaves_.size()))
    return "the cache holds " + std::to_string(held) + " pages, " + std::to_string(evictable) +
           " of them evictable and " + std::to_string(leaves) + " as leaves, but counts " +
           std::to_string(num_pages_) + ", " + std::to_string(evictable_) + " and " +
           std::to_string(evictable_leaves_.size());
  return {};
}

}  // namespace foretoken
