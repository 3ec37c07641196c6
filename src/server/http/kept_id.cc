#include "server/http/kept_id.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::string_view kIdHeader = "x-request-id";
constexpr std::size_t kLongestId = 128;

}  // namespace

std::string_view kept_id(const HttpRequest& head) {
  const std::string_view id = head.header(kIdHeader);
  const bool is_visible = std::ranges::all_of(id, [](char c) { return c > ' ' && c < '\x7f'; });
  return is_visible && id.size() <= kLongestId ? id : std::string_view();
}

std::string kept_id_line(const HttpRequest& head) {
  const std::string_view id = kept_id(head);
  return id.empty() ? std::string() : std::string(kIdHeader) + ": " + std::string(id) + "\r\n";
}

}  // namespace foretoken
