#pragma once
// The parts of a URL that say whom it is of, and which names are of this machine. Pure functions;
// nothing is looked up. Names are taken as browsers write them, in lower case.

#include <string_view>

namespace foretoken {

// "host:port" of "scheme://host:port/path"; empty without a scheme.
std::string_view host_of(std::string_view url);

// Of "host:port" the host; of "[::1]:80" what is between the brackets.
std::string_view name_of(std::string_view host);

// An address of either kind, not a name that has to be looked up.
bool is_address(std::string_view name);

// Names that no resolver is asked for (RFC 6761, 6.3).
bool is_localhost(std::string_view name);

bool is_loopback(std::string_view name);

}  // namespace foretoken
