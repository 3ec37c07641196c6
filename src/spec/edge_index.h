#pragma once
// EdgeIndex: finds the child of a node by its token in one look-up: an open-addressing table of
// (hash, node) with linear probing, which never grows. Not the nodes: whether an entry is meant,
// its owner says. Removing shifts entries back, so there are no tombstones and no rebuilding.
// Memory is touched as entries come. One thread.

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
  explicit EdgeIndex(std::size_t capacity)
      : memory_(bytes_for(capacity)), mask_(static_cast<Hash>(slots_for(capacity) - 1)) {}

  static std::size_t bytes_for(std::size_t capacity) { return slots_for(capacity) * sizeof(Entry); }

  // The entry of this hash for which is_meant(id); 0: there is none.
  template <typename IsMeant>
  Id find(Hash hash, const IsMeant& is_meant) const {
    const Entry* entries = table();
    for (Hash slot = hash & mask_; entries[slot].id != 0; slot = (slot + 1) & mask_)
      if (entries[slot].hash == hash && is_meant(entries[slot].id)) return entries[slot].id;
    return 0;
  }
  // The first entry of this hash, which nearly always is the one that is meant.
  Id guess(Hash hash) const {
    return find(hash, [](Id) { return true; });
  }
  void prefetch(Hash hash) const { __builtin_prefetch(table() + (hash & mask_)); }

  void insert(Hash hash, Id id);
  void erase(Hash hash, Id id);  // which is there

  const Buffer& memory() const { return memory_; }

 private:
  struct Entry {
    Hash hash;
    Id id;
  };
  // At most two thirds of them are in use.
  static std::size_t slots_for(std::size_t capacity) {
    return std::bit_ceil(capacity + capacity / 2 + 1);
  }
  Entry* table() const { return static_cast<Entry*>(memory_.data()); }

  Buffer memory_;
  Hash mask_;
};

// Fills memory with zeros by giving it back to the system until it is needed again, without
// touching what was never written.
void give_back(const Buffer& memory);

}  // namespace foretoken
