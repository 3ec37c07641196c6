#include "draft/from_text/ngram/ngram_trie.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr int kSecondChances = 64;  // at most, for one node that is needed

std::int64_t checked_capacity(std::int64_t capacity, int max_depth) {
  const auto fail = [](const char* what, const std::string& expected, std::int64_t found) {
    throw Error({what, {}, expected, std::to_string(found)});
  };
  if (max_depth < 2 || max_depth > kMostNgramDepth)
    fail("the depth of a trie of n-grams", fmt::format("2 to {}", kMostNgramDepth), max_depth);
  const int least = max_depth + 4;  // one path, with the root, and a node to give up
  if (capacity < least || capacity > kMostNgramNodes)
    fail("the capacity of a trie of n-grams", fmt::format("{} to {} nodes", least, kMostNgramNodes),
         capacity);
  return capacity;
}

Token low_half(std::uint64_t scope) { return static_cast<Token>(scope & 0xffffffffU); }
Token high_half(std::uint64_t scope) { return static_cast<Token>(scope >> 32); }

}  // namespace

void NgramTrie::Cursor::start(std::uint64_t scope) {
  scope_ = scope;
  generation_ = 0;
}

NgramTrie::NgramTrie(std::int64_t capacity, int max_depth)
    : capacity_(checked_capacity(capacity, max_depth)),
      max_depth_(max_depth),
      memory_(at(capacity) * sizeof(Node)),
      queue_memory_(at(capacity) * sizeof(Id)),
      index_(at(capacity)) {
  static_assert(sizeof(Node) == 32, "two nodes to a cache line");
}

std::size_t NgramTrie::bytes_for(std::int64_t capacity) {
  return at(capacity) * (sizeof(Node) + sizeof(Id)) + EdgeIndex::bytes_for(at(capacity));
}

NgramTrie::Id NgramTrie::find(Id parent, Token token, EdgeIndex::Hash hash) const {
  return index_.find(hash, [&](Id id) {
    const Node& found = node(id);
    return found.parent == parent && found.token == token;
  });
}

// Longer runs first, so that each finds the place of the run it extends.
void NgramTrie::append(Cursor& cursor, Token token) {
  enter(cursor);
  warm(cursor, token);
  for (std::size_t length = at(max_depth_); length >= 1; --length) {
    const Place& from = cursor.places_[length - 1];
    cursor.places_[length] = exists(from) ? meet(from.node, token) : Place{};
  }
}

NgramTrie::Id NgramTrie::at_end(const Cursor& cursor, int length) const {
  if (cursor.generation_ != generation_) return 0;
  const Place& place = cursor.places_[at(length)];
  return exists(place) ? place.node : 0;
}

// The scope's root may have been given up since the last token, or everything forgotten.
void NgramTrie::enter(Cursor& cursor) {
  if (cursor.generation_ != generation_) {
    cursor.places_.assign(at(max_depth_) + 1, Place{});
    cursor.generation_ = generation_;
  }
  Place& root = cursor.places_[0];
  if (exists(root)) return;
  root = meet(kRoot, low_half(cursor.scope_));
  if (exists(root)) root = meet(root.node, high_half(cursor.scope_));
}

// The look-ups of one token depend on nothing but the places, so their misses can overlap: first
// all entries of the index, then all nodes.
void NgramTrie::warm(const Cursor& cursor, Token token) const {
  std::array<EdgeIndex::Hash, kMostNgramDepth> hashes;
  for (std::size_t i = 0; i < at(max_depth_); ++i) {
    hashes[i] = hash_of(cursor.places_[i].node, token);
    index_.prefetch(hashes[i]);
  }
  for (std::size_t i = 0; i < at(max_depth_); ++i) {
    if (const Id child = index_.guess(hashes[i]))
      prefetch(child);
    else
      prefetch(node(cursor.places_[i].node).first_child);  // a new one goes before it
  }
}

NgramTrie::Place NgramTrie::meet(Id parent, Token token) {
  const EdgeIndex::Hash hash = hash_of(parent, token);
  if (const Id id = find(parent, token, hash)) {
    Node& met = node(id);
    met.count = std::min<std::uint32_t>(met.count + 1, (1U << 30) - 1);
    met.is_touched = 1;
    if (met.previous != 0) {
      unlink(id);
      link(id, parent);
    }
    return {id, met.version};
  }
  const Id id = make(parent, token, hash);
  return id == 0 ? Place{} : Place{id, node(id).version};
}

// 0: there is nothing to give up but the parent.
NgramTrie::Id NgramTrie::make(Id parent, Token token, EdgeIndex::Hash hash) {
  const Id id = used_ < capacity_ ? static_cast<Id>(used_++) : give_up_one(parent);
  if (id == 0) return 0;
  Node& made = node(id);
  made.token = token;
  made.parent = parent;
  made.count = 1;
  made.is_touched = 0;
  made.first_child = 0;
  link(id, parent);
  index_.insert(hash, id);
  queue_back(id);
  return id;
}

// ---- giving up

// Nodes that have children leave the queue and come back with their last child's end. Each turn of
// the loop undoes what a token did once, a touch or a place in the queue.
NgramTrie::Id NgramTrie::give_up_one(Id kept) {
  int chances = kSecondChances;
  while (queue_size_ > 0) {
    look_ahead();
    const Id id = unqueue();
    Node& oldest = node(id);
    if (oldest.first_child != 0) continue;
    if (id == kept) {
      const bool is_alone = queue_size_ == 0;
      queue_back(id);
      if (is_alone) return 0;
    } else if (oldest.is_touched && chances > 0) {
      --chances;
      oldest.is_touched = 0;
      queue_back(id);
    } else {
      give_up(id);
      return id;
    }
  }
  return 0;
}

// A parent that is left without children is as old as they were, unless it was met again.
void NgramTrie::give_up(Id id) {
  Node& old = node(id);
  const Id parent = old.parent;
  unlink(id);
  index_.erase(hash_of(parent, old.token), id);
  ++old.version;
  Node& above = node(parent);
  if (parent == kRoot || above.first_child != 0 || above.is_queued) return;
  if (above.is_touched) {
    above.is_touched = 0;
    queue_back(parent);
  } else {
    queue_front(parent);
  }
}

void NgramTrie::link(Id id, Id parent) {
  Node &child = node(id), &above = node(parent);
  child.previous = 0;
  child.next = above.first_child;
  if (child.next != 0) node(child.next).previous = id;
  above.first_child = id;
}

void NgramTrie::unlink(Id id) {
  const Node& child = node(id);
  if (child.previous != 0)
    node(child.previous).next = child.next;
  else
    node(child.parent).first_child = child.next;
  if (child.next != 0) node(child.next).previous = child.previous;
}

void NgramTrie::queue_back(Id id) {
  node(id).is_queued = 1;
  ++queue_size_;
  const std::int64_t place = queue_begin_ + queue_size_ - 1;
  queue()[place < capacity_ ? place : place - capacity_] = id;
}

void NgramTrie::queue_front(Id id) {
  node(id).is_queued = 1;
  ++queue_size_;
  queue_begin_ = queue_begin_ > 0 ? queue_begin_ - 1 : capacity_ - 1;
  queue()[queue_begin_] = id;
}

NgramTrie::Id NgramTrie::unqueue() {
  const Id id = queued(0);
  queue_begin_ = queue_begin_ + 1 < capacity_ ? queue_begin_ + 1 : 0;
  --queue_size_;
  node(id).is_queued = 0;
  return id;
}

// What giving up the next ones will touch lies far apart: it is fetched some turns before.
void NgramTrie::look_ahead() const {
  constexpr std::int64_t kFar = 16, kNear = 8;
  if (queue_size_ <= kFar) return;
  prefetch(queued(kFar));
  const Node& soon = node(queued(kNear));
  if (soon.first_child != 0) return;
  index_.prefetch(hash_of(soon.parent, soon.token));
  prefetch(soon.parent);
  prefetch(soon.next);
}

void NgramTrie::clear() {
  give_back(memory_);
  give_back(queue_memory_);
  index_.clear();
  used_ = 1;
  queue_begin_ = queue_size_ = 0;
  ++generation_;
}

// ---- integrity

std::string NgramTrie::fault_below(Id id, std::int64_t& seen) const {
  Id before = 0;
  for (Id child = node(id).first_child; child != 0; child = node(child).next) {
    const Node& found = node(child);
    if (++seen >= used_) return "there is a loop among siblings";
    if (found.parent != id) return fmt::format("node {} has another parent than {}", child, id);
    if (found.previous != before) return fmt::format("node {} follows another sibling", child);
    if (found.count == 0) return fmt::format("node {} was never met", child);
    if (find(id, found.token, hash_of(id, found.token)) != child)
      return fmt::format("node {} is not found by its token", child);
    if (found.first_child == 0 && !found.is_queued)
      return fmt::format("leaf {} would never be given up", child);
    before = child;
  }
  return {};
}

std::string NgramTrie::check_integrity() const {
  std::int64_t seen = 0;
  for (std::int64_t id = 0; id < used_; ++id)
    if (auto fault = fault_below(static_cast<Id>(id), seen); !fault.empty()) return fault;
  if (seen != size()) return fmt::format("{} nodes are linked, {} exist", seen, size());
  std::vector<bool> is_queued(at(used_));
  for (std::int64_t i = 0; i < queue_size_; ++i) {
    const Id id = queued(i);
    if (id == kRoot || id >= used_ || is_queued[id]) return fmt::format("{} is queued twice", id);
    is_queued[id] = true;
  }
  for (std::int64_t id = 1; id < used_; ++id)
    if (is_queued[at(id)] != (node(static_cast<Id>(id)).is_queued != 0))
      return fmt::format("node {} does not know whether it is queued", id);
  return {};
}

}  // namespace foretoken
