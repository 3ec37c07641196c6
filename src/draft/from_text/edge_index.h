#pragma once
// EdgeIndex: finds the child of a node by its token in one look-up: an open-addressing table of
// (hash, node) with linear probing. Not the nodes: whether an entry is meant, its owner says. It is
// as large as what it holds asks for, so that little is found among little memory, and doubles in
// steps of a few entries, a step with each that comes: nobody waits for it. While it does there are
// two tables, and what is not in the new one may be in the part of the old one that has not moved
// yet. Removing shifts entries back, so there are no tombstones but in an old table. The address
// space for all of it is taken at the start; memory is touched as entries come. One thread.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "tensor/buffer.h"

namespace foretoken {

class EdgeIndex {
 public:
  using Hash = std::uint32_t;
  using Id = std::uint32_t;  // 0: none

  // Of the child that a token leads to.
  static Hash hash_of(Id parent, Token token) {
    std::uint64_t x = std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(token);
    x *= 0x9e3779b97f4a7c15U;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9U;
    return static_cast<Hash>(x >> 32);
  }

  // At most `capacity` entries at a time. Throws Error where memory is short.
  explicit EdgeIndex(std::size_t capacity);

  // At most, which is while the table of all entries comes from the one before.
  static std::size_t bytes_for(std::size_t capacity) {
    return slots_for(capacity) * sizeof(Entry) * 3 / 2;
  }

  // The entry of this hash for which is_meant(id); 0: there is none.
  template <typename IsMeant>
  Id find(Hash hash, const IsMeant& is_meant) const {
    const auto meant = [&](const Entry& entry) { return entry.hash == hash && is_meant(entry.id); };
    if (const Entry* found = now_.find(hash, 0, meant)) return found->id;
    const Entry* found = is_growing() ? old_.find(hash, moved_, meant) : nullptr;
    return found == nullptr ? 0 : found->id;
  }
  // The first entry of this hash, which nearly always is the one that is meant.
  Id guess(Hash hash) const {
    return find(hash, [](Id) { return true; });
  }
  void prefetch(Hash hash) const {
    __builtin_prefetch(now_.entries + (hash & now_.mask));
    if (is_growing()) __builtin_prefetch(old_.entries + (hash & old_.mask));
  }

  void insert(Hash hash, Id id);
  void erase(Hash hash, Id id);  // which is there
  void clear();

 private:
  struct Entry {
    Hash hash;
    Id id;
  };
  // Of an entry that has left the old table; no node has it.
  static constexpr Id kGone = ~Id{0};

  struct Table {
    Entry* entries = nullptr;
    Hash mask = 0;

    std::size_t slots() const { return std::size_t{mask} + 1; }
    void put(Entry entry);
    // The entry for which is_it(entry) from the slot `first` on; null: there is none.
    template <typename IsIt>
    Entry* find(Hash hash, std::size_t first, const IsIt& is_it) const {
      for (Hash slot = hash & mask; entries[slot].id != 0; slot = (slot + 1) & mask)
        if (slot >= first && entries[slot].id != kGone && is_it(entries[slot]))
          return &entries[slot];
      return nullptr;
    }
  };

  // At most two thirds of them are in use where it grows no more.
  static std::size_t slots_for(std::size_t capacity) {
    return std::bit_ceil(capacity + capacity / 2 + 1);
  }
  bool is_growing() const { return old_.entries != nullptr; }
  Table table_of(std::size_t slots) const;
  void grow();
  void move_some();

  const std::size_t most_slots_;
  // Tables of the most slots, of a quarter of them, ...; and those between.
  Buffer memory_, other_memory_;
  Table now_, old_;        // old_: what it grows from; none: it does not
  std::size_t size_ = 0;   // entries in both
  std::size_t moved_ = 0;  // slots of the old table
};

// Fills memory with zeros by giving it back to the system until it is needed again, without
// touching what was never written.
void give_back(const Buffer& memory);

}  // namespace foretoken
