#include "server/context/response_store.h"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

std::size_t bytes_of(const KeptResponse& response) {
  return response.answer.size() + response.messages.size();
}

}  // namespace

std::optional<KeptResponse> ResponseStore::take(const std::string& id) {
  const auto found = responses_.find(id);
  if (found == responses_.end()) return std::nullopt;
  KeptResponse response = std::move(found->second);
  bytes_ -= bytes_of(response);
  responses_.erase(found);
  ids_.erase(std::ranges::find(ids_, id));
  return response;
}

void ResponseStore::add(const std::string& id, KeptResponse response) {
  if (bytes_of(response) > kMostBytes) return;
  bytes_ += bytes_of(response);
  responses_.emplace(id, std::move(response));
  ids_.push_back(id);
  while (ids_.size() > kMostResponses || bytes_ > kMostBytes) take(std::string(ids_.front()));
}

void ResponseStore::put(const std::string& id, KeptResponse response) {
  const std::lock_guard lock(mutex_);
  take(id);
  add(id, std::move(response));
}

void ResponseStore::change(const std::string& id,
                           const std::function<void(KeptResponse&)>& change) {
  const std::lock_guard lock(mutex_);
  auto response = take(id);
  if (!response) return;
  change(*response);
  add(id, *std::move(response));
}

std::optional<KeptResponse> ResponseStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = responses_.find(id);
  if (found == responses_.end()) return std::nullopt;
  return found->second;
}

std::optional<KeptResponse> ResponseStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return take(id);
}

std::size_t ResponseStore::size() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace foretoken
