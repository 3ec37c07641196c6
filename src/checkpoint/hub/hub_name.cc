#include "checkpoint/hub/hub_name.h"

#include <algorithm>
#include <vector>

namespace foretoken {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && !text.starts_with('.') && !text.starts_with('-') &&
         text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t slash; (slash = text.find('/')) != std::string_view::npos;
       text.remove_prefix(slash + 1))
    parts.push_back(text.substr(0, slash));
  parts.push_back(text);
  return parts;
}

}  // namespace

std::string HubName::text() const {
  return id + (quant.empty() ? "" : ":" + quant) + (file.empty() ? "" : "/" + file);
}

std::optional<HubName> parse_hub_name(std::string_view text) {
  HubName name;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    name.quant = text.substr(colon + 1);
    if (!is_word(name.quant)) return std::nullopt;
    text = text.substr(0, colon);
  }
  const auto parts = parts_of(text);
  if (!std::ranges::all_of(parts, is_word)) return std::nullopt;
  name.id = parts[0];
  if (parts.size() > 1) name.id += "/" + std::string(parts[1]);
  if (parts.size() > 2) name.file = text.substr(name.id.size() + 1);
  if (!name.file.empty() && !name.quant.empty()) return std::nullopt;
  return name;
}

bool is_safe_path(std::string_view path) {
  constexpr std::size_t kLongest = 1024;
  if (path.size() > kLongest) return false;
  return std::ranges::all_of(parts_of(path), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           std::ranges::all_of(part, [](unsigned char c) { return c >= 0x20 && c != 0x7f; }) &&
           part.find('\\') == std::string_view::npos;
  });
}

}  // namespace foretoken
