#pragma once
// HubClient: what is asked of the hub over HTTP and TLS, by libcurl: proxies by the usual
// variables, redirects, a token that leaves for the endpoint's host only. Waits for the answer; no
// retries (patience.h). One thread at a time; one client keeps its connections.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "checkpoint/hub/blob_ranges.h"
#include "checkpoint/hub/hub_settings.h"

namespace foretoken {

// There was no answer, or not all of it: a name without an address, a refused or cut connection, a
// stall.
struct HubFault : std::runtime_error {
  HubFault(const std::string& why, bool was_connected)
      : std::runtime_error(why), was_connected(was_connected) {}
  bool was_connected;
};

struct HubReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // of the last answer; names in lower case
  std::string body;                            // of errors its beginning

  std::string header(const std::string& name) const;  // empty: none
  std::optional<std::int64_t> length_header(const std::string& name) const;
};

class HubClient {
 public:
  // Takes the bytes that begin at an offset of the file; false ends the transfer.
  using Sink = std::function<bool(std::int64_t offset, std::span<const char> bytes)>;

  explicit HubClient(const HubSettings& settings);
  ~HubClient();
  HubClient(HubClient&&) noexcept;

  // Throws HubFault; also where a body is larger than this program has use for (64 MiB).
  HubReply get(const std::string& url);
  HubReply head(const std::string& url);  // redirects to other hosts are not followed
  // The status is 206, or 200 where the server sends the whole file whatever was asked: the sink
  // is told where bytes lie. Other answers leave the sink alone. A transfer that the sink ends is
  // no fault.
  HubReply get_range(const std::string& url, BlobRange range, const Sink& sink);

 private:
  struct State;
  HubReply perform(const std::string& url);

  std::unique_ptr<State> state_;
};

// A part of a URL's path: what is not a letter, a digit or one of -._~ as %XX; `keep` stays.
std::string url_part(const std::string& text, char keep = '\0');

}  // namespace foretoken
