#include "engine/slot_change.h"

#include <algorithm>

#include "base/index.h"

namespace foretoken {

void apply(const SlotChange& change, SeqTable& table) {
  if (change.slot < 0) return;
  auto& pages = table.pages[at(change.slot)];
  switch (change.kind) {
    case SlotChange::Kind::kOpen:
      table.length[at(change.slot)] = change.opening.stored;
      pages.clear();
      return;
    case SlotChange::Kind::kPages:
      pages.resize(std::max(pages.size(), at(change.first_page) + change.pages.size()));
      std::ranges::copy(change.pages, pages.begin() + change.first_page);
      return;
    case SlotChange::Kind::kClose:
      table.length[at(change.slot)] = 0;
      pages.clear();
      return;
    case SlotChange::Kind::kForget:
      return;
  }
}

}  // namespace foretoken
