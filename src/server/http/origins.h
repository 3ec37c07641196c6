#pragma once
// Origins: pages of which other origins may call this server out of a browser, and what an answer
// says of that. Nobody may unless the operator has named them. Not a list of clients: what is no
// browser names no origin and is not concerned. Read-only, so safe from any thread.

#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace foretoken {

class Origins {
 public:
  // allowed: like "https://chat.example:8443" or "null"; "*": all. host: where the server listens.
  // On a loopback address plain pages of names other than localhost are foreign, too: their name may
  // have been pointed at this machine after they were loaded (DNS rebinding).
  explicit Origins(std::vector<std::string> allowed = {}, std::string_view host = {});

  bool allow(std::string_view origin) const;
  // Header lines of every answer to this head, each with CR LF; empty where nobody is allowed.
  std::string headers(const HttpRequest& head) const;
  // Whether a browser sends it for a page of another origin that is not allowed.
  bool are_foreign_to(const HttpRequest& head) const;
  // Whether a head calls this server by a name that may have been pointed at its loopback address:
  // to a browser whatever is answered then belongs to the page of that name. Elsewhere the names of
  // a server cannot be known.
  bool is_misnamed(const HttpRequest& head) const;

 private:
  std::vector<std::string> allowed_;
  bool is_on_loopback_;
};

}  // namespace foretoken
