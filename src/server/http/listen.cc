#include "server/http/listen.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <boost/asio/ip/v6_only.hpp>

#include "base/error.h"

namespace foretoken {
namespace {

using ErrorCode = boost::system::error_code;

constexpr int kBacklog = 4096;      // the kernel takes less where it is set so
constexpr int kFreePortTries = 16;  // a port may be free for one family only

std::vector<tcp::endpoint> endpoints_of(const Strand& strand, const std::string& host, int port,
                                        ErrorCode& error) {
  // Whatever the machine's files say of this name, it is both of these.
  const auto number = static_cast<unsigned short>(port);
  if (host == "localhost")
    return {{asio::ip::address_v6::loopback(), number}, {asio::ip::address_v4::loopback(), number}};
  std::vector<tcp::endpoint> out;
  const auto found =
      tcp::resolver(strand).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error) return out;
  for (const auto& entry : found)
    if (std::ranges::find(out, entry.endpoint()) == out.end()) out.push_back(entry.endpoint());
  // IPv6 first, so that what listens for both families leaves the other a clear "taken".
  std::ranges::stable_partition(out, [](const auto& e) { return e.address().is_v6(); });
  return out;
}

std::optional<tcp::acceptor> listen_at(const Strand& strand, const tcp::endpoint& endpoint,
                                       ErrorCode& error) {
  tcp::acceptor acceptor(strand);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  const bool any_v6 = endpoint.address().is_v6() && endpoint.address().is_unspecified();
  if (!error && any_v6) acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) return std::nullopt;
  return acceptor;
}

// A machine may lack a family that its names mention.
bool is_absent(const ErrorCode& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available;
}

// All endpoints that this machine has; the first fault, or that of the last if it has none.
std::vector<tcp::acceptor> listen_at_all(const Strand& strand, std::vector<tcp::endpoint> endpoints,
                                         ErrorCode& error) {
  std::vector<tcp::acceptor> out;
  for (tcp::endpoint& endpoint : endpoints) {
    if (endpoint.port() == 0 && !out.empty()) endpoint.port(out.front().local_endpoint().port());
    ErrorCode fault;
    if (auto acceptor = listen_at(strand, endpoint, fault)) {
      out.push_back(*std::move(acceptor));
      continue;
    }
    error = fault;
    if (!is_absent(fault)) return {};
  }
  if (!out.empty()) error = {};
  return out;
}

}  // namespace

std::vector<tcp::acceptor> listen_on(const Strand& strand, const std::string& host, int port) {
  ErrorCode error;
  const auto endpoints = endpoints_of(strand, host, port, error);
  const int tries = port == 0 ? kFreePortTries : 1;
  for (int i = 0; i < tries && !endpoints.empty(); ++i) {
    error = {};
    auto acceptors = listen_at_all(strand, endpoints, error);
    if (!acceptors.empty()) return acceptors;
    if (error != asio::error::address_in_use) break;
  }
  throw Error({.what = "cannot listen for HTTP connections",
               .where = host + ":" + std::to_string(port),
               .expected = "a free address of this machine (--host, --port)",
               .found = error.message()});
}

}  // namespace foretoken
