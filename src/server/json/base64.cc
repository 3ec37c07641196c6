#include "server/json/base64.h"

#include <algorithm>
#include <cstdint>

namespace foretoken {

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t digit = 0; digit < 4; ++digit)
      out.push_back(digit <= count ? kDigits[bits >> (18 - 6 * digit) & 63] : '=');
  }
  return out;
}

}  // namespace foretoken
