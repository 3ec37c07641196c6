#include "kv/radix_cache.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace foretoken {
namespace {

// What distinguishes a node from its siblings: the tokens of its page. The salt is part of every
// key, which keeps the name spaces apart without a root for each.
struct PageKey {
  std::array<Token, kPageTokens> tokens;
  std::uint64_t salt;
  bool operator==(const PageKey&) const = default;
};

struct PageKeyHash {
  std::size_t operator()(const PageKey& key) const {
    std::uint64_t hash = key.salt;
    for (const Token token : key.tokens) hash = mix_seed(hash, static_cast<std::uint64_t>(token));
    return static_cast<std::size_t>(hash);
  }
};

PageKey make_key(std::span<const Token> page, std::uint64_t salt) {
  PageKey key{.tokens = {}, .salt = salt};
  std::copy_n(page.begin(), kPageTokens, key.tokens.begin());
  return key;
}

std::span<const Token> page_of(std::span<const Token> tokens, std::size_t index) {
  return tokens.subspan(index * kPageTokens, kPageTokens);
}

}  // namespace

struct RadixCache::Node {
  PageKey key{};
  Page page;
  Node* parent = nullptr;
  std::list<Node*>::iterator recency;
  std::unordered_map<PageKey, std::unique_ptr<Node>, PageKeyHash> children;
  mutable bool pinned = false;  // scratch of evictable(): some descendant has another owner
};

RadixCache::RadixCache(bool enabled) : root_(std::make_unique<Node>()), enabled_(enabled) {}
RadixCache::~RadixCache() { clear(); }

RadixCache::Node* RadixCache::find(Node& parent, std::span<const Token> page,
                                   std::uint64_t salt) const {
  const auto child = parent.children.find(make_key(page, salt));
  return child == parent.children.end() ? nullptr : child->second.get();
}

// path: from the first page downwards. Moved to the front leaf first, so that parents end up ahead.
void RadixCache::touch(std::span<Node* const> path) {
  for (auto node = path.rbegin(); node != path.rend(); ++node)
    recency_.splice(recency_.begin(), recency_, (*node)->recency);
}

std::vector<Page> RadixCache::match(std::span<const Token> tokens, std::uint64_t salt) {
  std::vector<Node*> path;
  Node* node = root_.get();
  for (std::size_t i = 0; i < tokens.size() / kPageTokens; ++i) {
    node = find(*node, page_of(tokens, i), salt);
    if (!node) break;
    path.push_back(node);
  }
  touch(path);
  std::vector<Page> pages;
  pages.reserve(path.size());
  for (const Node* matched : path) pages.push_back(matched->page);
  return pages;
}

int RadixCache::peek(std::span<const Token> tokens, std::uint64_t salt) const {
  Node* node = root_.get();
  std::size_t pages = 0;
  for (; pages < tokens.size() / kPageTokens; ++pages) {
    node = find(*node, page_of(tokens, pages), salt);
    if (!node) break;
  }
  return static_cast<int>(pages) * kPageTokens;
}

void RadixCache::publish(std::span<const Token> tokens, std::span<Page> pages, std::uint64_t salt) {
  const std::size_t full = tokens.size() / kPageTokens;
  CHECK(pages.size() >= full) << pages.size() << " pages for " << tokens.size() << " tokens";
  if (!enabled_) return;
  std::vector<Node*> path;
  path.reserve(full);
  Node* parent = root_.get();
  for (std::size_t i = 0; i < full; ++i) {
    const PageKey key = make_key(page_of(tokens, i), salt);
    auto& child = parent->children[key];
    if (!child) {
      child = std::make_unique<Node>();
      child->key = key;
      child->page = pages[i];
      child->parent = parent;
      child->recency = recency_.insert(recency_.end(), child.get());
    }
    if (child->page.id() != pages[i].id()) pages[i] = child->page;
    path.push_back(child.get());
    parent = child.get();
  }
  touch(path);
}

void RadixCache::remove(Node& leaf) {
  recency_.erase(leaf.recency);
  leaf.parent->children.erase(PageKey(leaf.key));  // a copy: erasing destroys the leaf and its key
}

int RadixCache::evict(int pages) {
  int freed = 0;
  for (auto it = recency_.end(); freed < pages && it != recency_.begin();) {
    Node& node = **std::prev(it);
    if (node.children.empty() && node.page.owners() == 1) {
      remove(node);  // the list element before `it`; `it` stays valid
      ++freed;
    } else {
      --it;
    }
  }
  return freed;
}

int RadixCache::evictable() const {
  for (const Node* node : recency_) node->pinned = false;
  int count = 0;
  for (auto it = recency_.rbegin(); it != recency_.rend(); ++it) {
    const Node& node = **it;
    if (node.pinned || node.page.owners() > 1)
      node.parent->pinned = true;
    else
      ++count;
  }
  return count;
}

// Children first: a long text is a deep tree, too deep for recursive destruction.
void RadixCache::clear() {
  while (!recency_.empty()) remove(*recency_.back());
}

int RadixCache::num_pages() const { return static_cast<int>(recency_.size()); }

std::string RadixCache::check_integrity() const {
  std::unordered_map<const Node*, std::size_t> rank;
  for (const Node* node : recency_) {
    const std::string name = "node of page " + std::to_string(node->page.id());
    if (!node->page) return "a node holds no page";
    if (!rank.emplace(node, rank.size()).second) return name + " is listed twice";
    if (node->parent != root_.get() && !rank.contains(node->parent))
      return name + " was used after its parent";
    const auto own = node->parent->children.find(node->key);
    if (own == node->parent->children.end() || own->second.get() != node)
      return name + " is unknown to its parent";
    if (*node->recency != node) return name + " points to the list element of another";
  }
  std::size_t children = root_->children.size();
  for (const auto& [node, position] : rank) children += node->children.size();
  if (children != rank.size())
    return std::to_string(children) + " nodes are linked but " + std::to_string(rank.size()) +
           " are listed";
  return {};
}

}  // namespace foretoken
