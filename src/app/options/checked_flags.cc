#include "app/options/checked_flags.h"

#include "base/json_text.h"

namespace foretoken {

std::optional<int> bounded(const FlagValues& values, std::string_view name, std::int64_t least,
                           std::int64_t most) {
  const auto value = values.integer(name);
  if (!value) return std::nullopt;
  if (*value < least || *value > most)
    throw UsageError({.what = std::string(name),
                      .expected = most == std::numeric_limits<int>::max()
                                      ? "at least " + std::to_string(least)
                                      : std::to_string(least) + " to " + std::to_string(most),
                      .found = std::to_string(*value)});
  return static_cast<int>(*value);
}

std::string json_object(const FlagValues& values, std::string_view name) {
  const std::string text = values.text(name);
  if (text.empty()) return text;
  JsonFault fault;
  const auto value = parse_json(text, fault);
  if (!value || !value->is_object())
    throw UsageError({.what = std::string(name),
                      .expected = "a JSON object",
                      .found = value ? "'" + text + "'" : "'" + text + "' (" + fault.reason + ")"});
  return text;
}

}  // namespace foretoken
