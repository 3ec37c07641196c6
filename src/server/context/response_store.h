#pragma once
// ResponseStore: answers of /v1/responses, for requests that ask for one by its id and for those
// that go on from one by previous_response_id. In memory only, bounded in number and bytes: the
// oldest go first. Not what makes the answers. Thread-safe.

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace foretoken {

struct KeptResponse {
  std::string answer;    // JSON text, as the client got it or would get it now
  std::string messages;  // JSON text of the list of a chat's messages; empty: none goes on from it
  std::string running;   // id of the request that makes it; empty: it is over
};

class ResponseStore {
 public:
  static constexpr std::size_t kMostResponses = 4096;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // Keeps an answer, also instead of the one of this id. One that is larger than the whole store
  // may be is not kept.
  void put(const std::string& id, KeptResponse response);
  // Changes the one of this id, where it is kept, while nobody else does.
  void change(const std::string& id, const std::function<void(KeptResponse&)>& change);
  std::optional<KeptResponse> find(const std::string& id) const;
  // What was removed.
  std::optional<KeptResponse> remove(const std::string& id);

  std::size_t size() const;

 private:
  std::optional<KeptResponse> take(const std::string& id);
  void add(const std::string& id, KeptResponse response);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, KeptResponse> responses_;
  std::deque<std::string> ids_;  // oldest first
  std::size_t bytes_ = 0;
};

}  // namespace foretoken
