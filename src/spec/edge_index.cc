#include "spec/edge_index.h"

#include <cstring>

#include <sys/mman.h>

namespace foretoken {

void EdgeIndex::insert(Hash hash, Id id) {
  Entry* entries = table();
  Hash slot = hash & mask_;
  while (entries[slot].id != 0) slot = (slot + 1) & mask_;
  entries[slot] = {hash, id};
}

// What follows without a gap moves up, unless it would come to lie before the place of its hash.
void EdgeIndex::erase(Hash hash, Id id) {
  Entry* entries = table();
  Hash gap = hash & mask_;
  while (entries[gap].id != id) gap = (gap + 1) & mask_;
  for (Hash slot = (gap + 1) & mask_; entries[slot].id != 0; slot = (slot + 1) & mask_) {
    const Hash moved = (slot - entries[slot].hash) & mask_;
    if (moved < ((slot - gap) & mask_)) continue;
    entries[gap] = entries[slot];
    gap = slot;
  }
  entries[gap] = {};
}

void give_back(const Buffer& memory) {
  if (madvise(memory.data(), memory.bytes(), MADV_DONTNEED) != 0)
    std::memset(memory.data(), 0, memory.bytes());
}

}  // namespace foretoken
