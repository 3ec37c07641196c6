#pragma once
// Opens the listening sockets of an address: a name stands for all its addresses ("localhost" for
// both families), "::" for every address of both. Throws Error when one of them is taken.

#include <string>
#include <vector>

#include "server/http/connection.h"

namespace foretoken {

// All on the same port; 0: any that is free.
std::vector<tcp::acceptor> listen_on(const Strand& strand, const std::string& host, int port);

}  // namespace foretoken
