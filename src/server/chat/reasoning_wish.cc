#include "server/chat/reasoning_wish.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> kTiers = {"none", "minimal", "low", "medium",
                                                    "high", "xhigh",   "max"};
constexpr double kMostEffort = 0.99;

// A number, also one that is written as a text.
std::optional<double> number_of(const json::value& value) {
  if (value.is_number()) return value.to_number<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string_view text(value.get_string());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

json::value read_effort(Fields& fields, std::string_view name) {
  const json::value* value = fields.find(name);
  if (value == nullptr) return nullptr;
  if (value->is_string() &&
      std::ranges::find(kTiers, std::string_view(value->get_string())) != kTiers.end())
    return *value;
  const auto number = number_of(*value);
  if (number && *number >= 0.0 && *number <= kMostEffort) return *number;
  fields.refuse_field(name,
                      "Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max' "
                      "or a number in [0, 0.99] (found " +
                          fields.shown(name) + ")");
  return nullptr;
}

}  // namespace

json::object ReasoningWish::variables() const {
  json::object out;
  if (!effort.is_null()) out["reasoning_effort"] = effort;
  // Templates of different families know different names.
  if (thinks)
    for (const char* name : {"thinking", "enable_thinking"}) out[name] = *thinks;
  return out;
}

ReasoningWish read_reasoning_wish(Fields& fields) {
  ReasoningWish wish{.effort = read_effort(fields, "reasoning_effort")};
  if (const json::object* reasoning = fields.object("reasoning")) {
    Fields inner(*reasoning, fields.path() + ".reasoning", fields.fault());
    json::value effort = read_effort(inner, "effort");
    if (!effort.is_null()) wish.effort = std::move(effort);
    wish.thinks = inner.boolean("enabled");
    if (inner.boolean("exclude").value_or(false))
      inner.refuse_field("exclude", "reasoning is shown apart: leave out reasoning_content");
  }
  if (!wish.effort.is_null()) wish.thinks = wish.effort != "none";
  return wish;
}

}  // namespace foretoken
