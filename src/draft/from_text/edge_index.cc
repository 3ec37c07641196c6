#include "draft/from_text/edge_index.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

namespace foretoken {
namespace {

constexpr std::size_t kFirstSlots = std::size_t{1} << 12;
// As long as it may grow: the emptier, the fewer slots a look-up meets.
constexpr std::size_t kSlotsOfEntry = 4;
// Slots that move with each entry that comes: an old table has moved long before the new one, of
// twice its size, is full.
constexpr std::size_t kMovedAtOnce = 32;

}  // namespace

EdgeIndex::EdgeIndex(std::size_t capacity)
    : most_slots_(slots_for(capacity)),
      memory_(most_slots_ * sizeof(Entry)),
      other_memory_(most_slots_ / 2 * sizeof(Entry)),
      now_(table_of(std::min(most_slots_, kFirstSlots))) {}

EdgeIndex::Table EdgeIndex::table_of(std::size_t slots) const {
  const bool is_other = std::countr_zero(most_slots_ / slots) % 2 == 1;
  return {.entries = static_cast<Entry*>((is_other ? other_memory_ : memory_).data()),
          .mask = static_cast<Hash>(slots - 1)};
}

void EdgeIndex::Table::put(Entry entry) {
  Hash slot = entry.hash & mask;
  while (entries[slot].id != 0) slot = (slot + 1) & mask;
  entries[slot] = entry;
}

void EdgeIndex::insert(Hash hash, Id id) {
  if (is_growing())
    move_some();
  else if (size_ * kSlotsOfEntry >= now_.slots() && now_.slots() < most_slots_)
    grow();
  now_.put({hash, id});
  ++size_;
}

void EdgeIndex::grow() {
  old_ = now_;
  now_ = table_of(2 * old_.slots());
  moved_ = 0;
}

void EdgeIndex::move_some() {
  const std::size_t end = std::min(moved_ + kMovedAtOnce, old_.slots());
  for (; moved_ < end; ++moved_) {
    const Entry& entry = old_.entries[moved_];
    if (entry.id != 0 && entry.id != kGone) now_.put(entry);
  }
  if (moved_ < old_.slots()) return;
  give_back(now_.entries == memory_.data() ? other_memory_ : memory_);
  old_ = {};
}

// What follows without a gap moves up, unless it would come to lie before the place of its hash.
void EdgeIndex::erase(Hash hash, Id id) {
  --size_;
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  const Entry* found = now_.find(hash, 0, is_it);
  if (found == nullptr) {
    old_.find(hash, moved_, is_it)->id = kGone;
    return;
  }
  Entry* entries = now_.entries;
  auto gap = static_cast<Hash>(found - entries);
  for (Hash slot = (gap + 1) & now_.mask; entries[slot].id != 0; slot = (slot + 1) & now_.mask) {
    const Hash moved = (slot - entries[slot].hash) & now_.mask;
    if (moved < ((slot - gap) & now_.mask)) continue;
    entries[gap] = entries[slot];
    gap = slot;
  }
  entries[gap] = {};
}

void EdgeIndex::clear() {
  give_back(memory_);
  give_back(other_memory_);
  now_ = table_of(std::min(most_slots_, kFirstSlots));
  old_ = {};
  size_ = 0;
}

void give_back(const Buffer& memory) {
  if (memory.bytes() == 0) return;
#if defined(__linux__)  // whose advice makes zeros
  if (madvise(memory.data(), memory.bytes(), MADV_DONTNEED) == 0) return;
#endif
  std::memset(memory.data(), 0, memory.bytes());
}

}  // namespace foretoken
