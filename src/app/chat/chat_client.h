#pragma once
// ChatClient: what a chat asks of a server over HTTP, by libcurl. Streams may be stopped; no
// retries, no redirects (a request carries a key). Not what answers mean: answer_delta.h. One thread
// at a time.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace foretoken {

// http(s)://host[:port][/path] without a slash at its end, and without the /v1 that other clients
// want; http where there is no scheme. Throws UsageError.
std::string server_url(const std::string& given);

class ChatClient {
 public:
  using OnEvent = std::function<void(std::string_view data)>;
  enum class End { kComplete, kStopped, kFailed };
  struct Outcome {
    End end = End::kComplete;
    std::string why = {};  // it failed, in a sentence
  };

  // key: empty: none. authorities: file of those whose certificates are taken; empty: the system's.
  // Throws Error.
  ChatClient(std::string url, std::string key, std::string authorities = "");
  ~ChatClient();

  const std::string& url() const;
  // The first model that the server names.
  Result<std::string> model_name();
  // One answer of /v1/chat/completions, event by event; ended early once `stop` is true.
  Outcome stream(const std::string& body, const OnEvent& on_event, const std::atomic<bool>& stop);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
