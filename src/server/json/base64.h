#pragma once
// Base64 (RFC 4648, with padding) of bytes. Pure function.

#include <string>
#include <string_view>

namespace foretoken {

std::string base64(std::string_view bytes);

}  // namespace foretoken
