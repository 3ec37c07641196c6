#pragma once
// A number as a command line has it: decimal, a plus sign permitted, nothing before or behind it.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace foretoken {

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace foretoken
