#include "server/context/response_store.h"

#include <utility>

namespace foretoken {

void ResponseStore::put(const std::string& id, std::string messages) {
  if (messages.size() > kMostBytes) return;
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = messages.size();
  if (!messages_.emplace(id, std::move(messages)).second) return;
  ids_.push_back(id);
  bytes_ += bytes;
  while (ids_.size() > kMostResponses || bytes_ > kMostBytes) {
    const auto oldest = messages_.find(ids_.front());
    bytes_ -= oldest->second.size();
    messages_.erase(oldest);
    ids_.pop_front();
  }
}

std::optional<std::string> ResponseStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = messages_.find(id);
  if (found == messages_.end()) return std::nullopt;
  return found->second;
}

std::size_t ResponseStore::size() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace foretoken
