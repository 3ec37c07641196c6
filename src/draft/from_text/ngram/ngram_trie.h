#pragma once
// NgramTrie: which tokens followed which in the texts so far. A path below a scope's root is a run
// of up to max_depth tokens that occurred there; a node counts how often, and children are ordered
// by when they last occurred, newest first. Texts of different scopes share memory and nothing
// else: below the root, two nodes spell a scope's number, and its runs lie below them.
// Not a drafter: it knows token ids only (see ngram_growth.h).
// Memory is taken at the start and touched as nodes come. Full, it gives up leaves, about the least
// recently used first: a queue in which what was met again gets a second chance. So parents are
// never given up before their children. Nothing else is ever allocated, and what a token costs
// does not depend on how many nodes there are. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/index.h"
#include "base/types.h"
#include "draft/from_text/edge_index.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "tensor/buffer.h"

namespace foretoken {

class NgramTrie {
 public:
  using Id = EdgeIndex::Id;  // 0: no node

  // A node as it was when it was met; given up since, it is met no more.
  struct Place {
    Id node = 0;
    std::uint32_t version = 0;
  };

  // Where a text stands: for each length, the node of the run that is its end. It belongs to one
  // trie and may outlive what it points at.
  class Cursor {
   public:
    // An empty text of this scope. Keeps its memory.
    void start(std::uint64_t scope);

   private:
    friend class NgramTrie;
    std::uint64_t scope_ = 0;
    std::uint64_t generation_ = 0;  // of the trie; 0: at none yet
    std::vector<Place> places_;     // by length; at 0 the scope's root
  };

  // Throws Error where this cannot be, or memory is short.
  NgramTrie(std::int64_t capacity, int max_depth);
  static std::size_t bytes_for(std::int64_t capacity);

  int max_depth() const { return max_depth_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t size() const { return used_ - 1; }  // nodes that exist

  // The text of the cursor goes on with this token: its runs that end there are met.
  void append(Cursor& cursor, Token token);

  // The node of the last `length` tokens (0 to max_depth) of the cursor's text; 0: none any more.
  Id at_end(const Cursor& cursor, int length) const;

  // Of a node that exists.
  Token token(Id id) const { return node(id).token; }
  std::uint32_t count(Id id) const { return node(id).count; }
  Id first_child(Id id) const { return node(id).first_child; }  // the newest; 0: a leaf
  Id next_sibling(Id id) const { return node(id).next; }        // the next older one; 0: none
  void prefetch(Id id) const { __builtin_prefetch(nodes() + id); }

  // Forgets everything and gives its memory back to the system until it is needed again.
  void clear();

  // One sentence naming the first broken invariant, or empty. Looks at all nodes.
  std::string check_integrity() const;

 private:
  struct Node {
    Token token;
    Id parent;
    Id first_child;
    Id previous, next;      // siblings; 0: none
    std::uint32_t version;  // grows when the node is given up
    std::uint32_t count : 30, is_touched : 1, is_queued : 1;
    std::uint32_t unused;
  };
  static constexpr Id kRoot = 0;  // nobody's child and never in the queue

  Node* nodes() const { return static_cast<Node*>(memory_.data()); }
  Node& node(Id id) const { return nodes()[id]; }
  static EdgeIndex::Hash hash_of(Id parent, Token token) {
    return EdgeIndex::hash_of(parent, token);
  }
  Id find(Id parent, Token token, EdgeIndex::Hash hash) const;

  bool exists(const Place& place) const {
    return place.node != 0 && node(place.node).version == place.version;
  }
  void enter(Cursor& cursor);
  void warm(const Cursor& cursor, Token token) const;
  Place meet(Id parent, Token token);
  Id make(Id parent, Token token, EdgeIndex::Hash hash);
  Id give_up_one(Id kept);
  void give_up(Id id);
  void link(Id id, Id parent);
  void unlink(Id id);
  void queue_back(Id id);
  void queue_front(Id id);
  Id unqueue();
  Id queued(std::int64_t i) const {  // the i-th to be looked at
    const std::int64_t place = queue_begin_ + i;
    return queue()[place < capacity_ ? place : place - capacity_];
  }
  Id* queue() const { return static_cast<Id*>(queue_memory_.data()); }
  void look_ahead() const;
  std::string fault_below(Id id, std::int64_t& seen) const;

  const std::int64_t capacity_;
  const int max_depth_;
  Buffer memory_;
  Buffer queue_memory_;  // a ring: what comes next is known ahead and can be fetched
  EdgeIndex index_;
  std::int64_t used_ = 1;  // nodes that were ever made, the root included
  std::uint64_t generation_ = 1;
  std::int64_t queue_begin_ = 0, queue_size_ = 0;
};

}  // namespace foretoken
