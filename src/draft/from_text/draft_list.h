#pragma once
// DraftList: the drafts that texts offer for one sequence, a tree in the order in which they were
// found: of equal paths the first stands for all. Plain bookkeeping of one growth.

#include <cstddef>
#include <span>
#include <vector>

#include "draft/from_text/text_drafts.h"

namespace foretoken {

class DraftList {
 public:
  void clear() {
    drafts_.clear();
    links_.assign(1, Links{});
  }
  // The number of the draft with this token below its parent; a new one where there was none.
  int add(const TextDraft& draft);

  std::size_t size() const { return drafts_.size(); }
  std::span<const TextDraft> drafts() const { return drafts_; }

 private:
  struct Links {  // between drafts
    int first_child = -1, next = -1;
  };
  std::vector<TextDraft> drafts_;
  std::vector<Links> links_{Links{}};  // of the root, then by draft
};

}  // namespace foretoken
