#pragma once
// ResponseStore: the conversations of answers of /v1/responses, for requests that go on from one by
// previous_response_id. In memory only, bounded in number and bytes: the oldest go first. Not the
// answers as they were worded. Thread-safe.

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace foretoken {

class ResponseStore {
 public:
  static constexpr std::size_t kMostResponses = 4096;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // messages: JSON text of the list of a chat's messages, the answer last. One that is larger than
  // the whole store may be is not kept.
  void put(const std::string& id, std::string messages);
  std::optional<std::string> find(const std::string& id) const;

  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> messages_;
  std::deque<std::string> ids_;  // oldest first
  std::size_t bytes_ = 0;
};

}  // namespace foretoken
