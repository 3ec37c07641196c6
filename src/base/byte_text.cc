#include "base/byte_text.h"

#include <fmt/format.h>

namespace foretoken {

std::string byte_text(std::int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.2f} GB", number / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", number / 1e6);
  if (bytes >= 1'000) return fmt::format("{:.0f} kB", number / 1e3);
  return fmt::format("{} bytes", bytes);
}

std::string megabyte_text(std::size_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace foretoken
