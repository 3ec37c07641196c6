#include "base/host_names.h"

#include <algorithm>

namespace foretoken {

std::string_view host_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::string_view rest = url.substr(scheme + 3);
  return rest.substr(0, rest.find('/'));
}

std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return std::ranges::count(host, ':') > 1 ? host : host.substr(0, host.find(':'));
}

bool is_address(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_localhost(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost");
}

bool is_loopback(std::string_view name) {
  return is_localhost(name) || name == "::1" || (is_address(name) && name.starts_with("127."));
}

}  // namespace foretoken
