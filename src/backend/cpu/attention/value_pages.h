#pragma once
// ValuePages: where an item of attention finds its values, by page: as they are stored, or, where
// they are parts of keys, as copies of these parts in the order of stored values (host_step.h).
// One copy serves all queries of the item: the pages of the block at hand, and those of the tree.
// For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/op_kernels.h"

namespace foretoken {
namespace {

// Pair: how many dimensions of a key, and slots of values, lie side by side.
template <typename Element, int Pair>
class ValuePages {
 public:
  // room: for the copies, of kAttnValuePages pages. tree_pages: from the first node's on.
  ValuePages(const AttnItem& item, float* room, int tree_pages)
      : item_(item),
        tree_start_(tree_pages > 0 ? item.tree_start : 1 << 30),
        copies_(reinterpret_cast<Element*>(room)),
        end_(room + (item.v == nullptr ? kAttnValuePages * kAttnSlots * item.value_dim : 0)) {}

  float* end() const { return end_; }

  // Positions [begin, end) of a block, which are no nodes, are going to be asked for.
  void take_block(int begin, int end) const {
    if (item_.v != nullptr) return;
    for (int page = begin / kAttnSlots; page * kAttnSlots < end; ++page)
      copy(page, copy_of(page % kBlockPages));
  }
  void take_tree(int pages) const {
    if (item_.v != nullptr) return;
    for (int i = 0; i < pages; ++i)
      copy(item_.tree_start / kAttnSlots + i, copy_of(kBlockPages + i));
  }

  // That a slot lies in.
  const Element* page_of(int slot) const {
    const int page = slot / kAttnSlots;
    if (item_.v != nullptr) return stored(item_.v, page);
    if (slot < tree_start_) return copy_of(page % kBlockPages);
    return copy_of(kBlockPages + page - tree_start_ / kAttnSlots);
  }
  const float* scales() const { return item_.v != nullptr ? item_.v_scale : item_.k_scale; }

 private:
  static constexpr int kBlockPages = kAttnBlock / kAttnSlots;

  const Element* stored(const void* kv, int page) const {
    return static_cast<const Element*>(kv) + item_.pages[page] * item_.page_stride;
  }
  Element* copy_of(int place) const {
    return copies_ + static_cast<std::int64_t>(place) * kAttnSlots * item_.value_dim;
  }
  // [dims / Pair][slots][Pair] -> [slots / Pair][dims][Pair]
  void copy(int page, Element* to) const {
    const Element* from = stored(item_.k, page);
    if constexpr (Pair == 2) {
      static_assert(sizeof(Element) == 2);
      const std::int64_t row = std::int64_t{2} * item_.value_dim;
      for (int d = 0; d < item_.value_dim; d += 2, from += 2 * kAttnSlots, to += 4)
        for (int s = 0; s < kAttnSlots; s += 2) turn_pairs(from + s * 2, to + s / 2 * row);
    } else {
      for (int d = 0; d < item_.value_dim; ++d, from += kAttnSlots, ++to)
        for (int s = 0; s < kAttnSlots; ++s) to[std::int64_t{s} * item_.value_dim] = from[s];
    }
  }
  // Two dimensions of two slots: what was apart by slots is apart by dimensions.
  static FT_INLINE void turn_pairs(const Element* from, Element* to) {
    constexpr std::uint64_t kInner = 0x0000ffffffff0000U;
    std::uint64_t both;
    __builtin_memcpy(&both, from, sizeof both);
    both = (both & ~kInner) | (both >> 16 & 0xffff0000U) | (both << 16 & 0xffff00000000U);
    __builtin_memcpy(to, &both, sizeof both);
  }

  const AttnItem& item_;
  int tree_start_;  // slots from here on are nodes
  Element* copies_;
  float* end_;
};

}  // namespace
}  // namespace foretoken
