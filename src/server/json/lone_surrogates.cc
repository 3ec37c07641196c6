#include "server/json/lone_surrogates.h"

#include <charconv>
#include <cstddef>
#include <optional>

namespace foretoken {
namespace {

constexpr std::size_t kEscape = 6;  // bytes of "\ud83d"

// The code of an escape at `at`.
std::optional<unsigned> escaped(std::string_view json, std::size_t at) {
  if (json.size() < at + kEscape || json[at] != '\\' || json[at + 1] != 'u') return std::nullopt;
  const char* digits = json.data() + at + 2;
  unsigned code = 0;
  const auto [end, error] = std::from_chars(digits, digits + 4, code, 16);
  if (error != std::errc() || end != digits + 4) return std::nullopt;
  return code;
}

bool is_leading(unsigned code) { return code >= 0xD800 && code < 0xDC00; }
bool is_trailing(unsigned code) { return code >= 0xDC00 && code < 0xE000; }

}  // namespace

std::string without_lone_surrogates(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    std::size_t bytes = 1;
    bool is_lone = false;
    if (json[at] == '\\') {
      const auto code = escaped(json, at);
      const auto next = escaped(json, at + kEscape);
      const bool is_pair = code && next && is_leading(*code) && is_trailing(*next);
      is_lone = code && !is_pair && (is_leading(*code) || is_trailing(*code));
      bytes = is_pair ? 2 * kEscape : code ? kEscape : 2;  // "\\" and "\"" are two bytes
    }
    out += is_lone ? std::string_view("\\ufffd") : json.substr(at, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace foretoken
