#include "engine/waiting_set.h"

#include <utility>

namespace foretoken {

void WaitingSet::add(std::unique_ptr<Sequence>& s) {
  const int rows = s->pending_rows();
  const WaitPlace place = wait_place(*s);
  queue_.emplace(place, std::move(s));
  rows_ += rows;
}

std::unique_ptr<Sequence> WaitingSet::take(const Sequence& s) {
  rows_ -= s.pending_rows();
  return std::move(queue_.extract(wait_place(s)).mapped());
}

Sequence* WaitingSet::last_new() const {
  for (auto it = queue_.rbegin(); it != queue_.rend(); ++it)
    if (it->second->retractions() == 0) return it->second.get();
  return nullptr;
}

WaitQueue WaitingSet::take_all() {
  rows_ = 0;
  return std::exchange(queue_, {});
}

std::string WaitingSet::check_integrity() const {
  std::int64_t rows = 0;
  for (const auto& [place, s] : queue_) {
    if (s->is_running() || !s->pages.empty()) return "a waiting sequence holds a slot or pages";
    if (wait_place(*s) != place) return "a waiting sequence stands in another's place";
    rows += s->pending_rows();
  }
  if (rows != rows_) return "the rows of waiting sequences are counted wrongly";
  return {};
}

}  // namespace foretoken
