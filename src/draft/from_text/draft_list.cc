#include "draft/from_text/draft_list.h"

#include "base/index.h"

namespace foretoken {

int DraftList::add(const TextDraft& draft) {
  int* link = &links_[at(draft.parent + 1)].first_child;
  while (*link >= 0) {
    if (drafts_[at(*link)].token == draft.token) return *link;
    link = &links_[at(*link + 1)].next;
  }
  *link = static_cast<int>(drafts_.size());
  drafts_.push_back(draft);
  links_.emplace_back();
  return static_cast<int>(drafts_.size()) - 1;
}

}  // namespace foretoken
