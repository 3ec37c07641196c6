#include "server/http/origins.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/host_names.h"
#include "base/letters.h"

namespace foretoken {
namespace {

// A name for which a resolver may say anything.
bool is_resolved(std::string_view name) { return !is_address(name) && !is_localhost(name); }

// Of a page that came without TLS from a name.
bool may_be_rebound(std::string_view origin) {
  return origin.starts_with("http://") && is_resolved(name_of(host_of(origin)));
}

}  // namespace

Origins::Origins(std::vector<std::string> allowed, std::string_view host)
    : allowed_(std::move(allowed)), is_on_loopback_(is_loopback(name_of(host))) {}

// Browsers write schemes and hosts in lower case.
bool Origins::allow(std::string_view origin) const {
  return !origin.empty() && std::ranges::any_of(allowed_, [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

std::string Origins::headers(const HttpRequest& head) const {
  if (allowed_.empty()) return {};
  // What is answered depends on it, whether it is allowed or not.
  std::string lines = "vary: Origin\r\n";
  const auto origin = head.header("origin");
  if (allow(origin)) lines += fmt::format("access-control-allow-origin: {}\r\n", origin);
  return lines;
}

// Browsers that say themselves whose page it is are believed: pages cannot write this header. Others
// name the origin alone.
bool Origins::are_foreign_to(const HttpRequest& head) const {
  const auto origin = head.header("origin");
  if (allow(origin)) return false;
  if (is_on_loopback_ && may_be_rebound(lower_case(std::string(origin)))) return true;
  if (const auto site = head.header("sec-fetch-site"); !site.empty())
    return site != "same-origin" && site != "none";
  if (origin.empty()) return false;
  return lower_case(std::string(host_of(origin))) != lower_case(std::string(head.header("host")));
}

bool Origins::is_misnamed(const HttpRequest& head) const {
  const std::string host = lower_case(std::string(head.header("host")));
  const std::string_view name = name_of(host);
  // Names without a dot are not those of strangers: a proxy calls its upstream so.
  return is_on_loopback_ && is_resolved(name) && name.find('.') != name.npos &&
         std::ranges::none_of(allowed_, [&](const std::string& allowed) {
           return allowed == "*" || name_of(host_of(allowed)) == name;
         });
}

}  // namespace foretoken
