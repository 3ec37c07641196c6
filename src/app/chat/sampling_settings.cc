#include "app/chat/sampling_settings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/read_number.h"

namespace foretoken {
namespace {

enum class Kind { kNumber, kInteger, kText };

struct Setting {
  std::string_view name;
  Kind kind;
  double least, most;  // of numbers
  std::string_view text;
};

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr std::array kSettings = {
    Setting{"temperature", Kind::kNumber, 0, kAny, "0: always the likeliest token"},
    Setting{"top_p", Kind::kNumber, 0, 1, "of the likeliest tokens this share"},
    Setting{"top_k", Kind::kInteger, -1, 1 << 30, "of the likeliest tokens so many; -1: all"},
    Setting{"min_p", Kind::kNumber, 0, 1, "at least this share of the likeliest's probability"},
    Setting{"max_tokens", Kind::kInteger, 1, 1 << 30, "length of an answer"},
    Setting{"seed", Kind::kInteger, -kAny, kAny, "of the draws: the same again"},
    Setting{"presence_penalty", Kind::kNumber, -2, 2, "for tokens that occurred"},
    Setting{"frequency_penalty", Kind::kNumber, -2, 2, "the same, for each time"},
    Setting{"repetition_penalty", Kind::kNumber, 0, 2, "a factor; 1: none"},
    Setting{"stop", Kind::kText, 0, 0, "a text that ends the answer"},
    Setting{"reasoning_effort", Kind::kText, 0, 0, "how much to think: none, low, high, ..."},
    Setting{"thinking_budget", Kind::kInteger, -1, 1 << 30, "tokens of thought at most; -1: any"},
};

std::string expected_of(const Setting& setting) {
  const std::string kind = setting.kind == Kind::kInteger ? "an integer" : "a number";
  if (setting.least == -kAny) return kind;
  if (setting.most == kAny) return fmt::format("{} of at least {}", kind, setting.least);
  return fmt::format("{} from {} to {}", kind, setting.least, setting.most);
}

// Nothing: it cannot be read, or lies outside.
std::optional<boost::json::value> value_of(const Setting& setting, std::string_view text) {
  if (setting.kind == Kind::kText) return boost::json::value(text);
  const auto holds = [&](double number) {
    return setting.least <= number && number <= setting.most;
  };
  if (setting.kind == Kind::kInteger) {
    const auto number = read_number<std::int64_t>(text);
    if (!number || !holds(static_cast<double>(*number))) return std::nullopt;
    return boost::json::value(*number);
  }
  const auto number = read_number<double>(text);
  if (!number || !holds(*number) || *number > std::numeric_limits<double>::max())
    return std::nullopt;
  return boost::json::value(*number);
}

std::string shown(const boost::json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : boost::json::serialize(value);
}

}  // namespace

std::optional<Refusal> SamplingSettings::set(std::string_view name, std::string_view value) {
  const auto* setting = std::ranges::find(kSettings, name, &Setting::name);
  if (setting == kSettings.end())
    return Refusal{fmt::format("'{}' cannot be set: there are {}", name, fmt::join(names(), ", "))};
  if (value.empty())
    return Refusal{fmt::format("{}: expected a value, or default, found nothing", name)};
  if (value == "default") {
    values_.erase(std::string(name));
    return std::nullopt;
  }
  auto read = value_of(*setting, value);
  if (!read)
    return Refusal{fmt::format("{}: expected {}, found '{}'", name, expected_of(*setting), value)};
  values_.insert_or_assign(std::string(name), *std::move(read));
  return std::nullopt;
}

std::optional<Refusal> SamplingSettings::set(std::string_view assignment) {
  const auto end = std::min(assignment.find_first_of(" \t="), assignment.size());
  std::string_view value = assignment.substr(end);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  if (value.starts_with('=')) value.remove_prefix(1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  return set(assignment.substr(0, end), value);
}

void SamplingSettings::write(boost::json::object& body) const {
  for (const auto& [name, value] : values_) body[name] = value;
}

std::string SamplingSettings::described() const {
  std::string text;
  for (const Setting& setting : kSettings) {
    const auto found = values_.find(setting.name);
    text += fmt::format("  {:<20}{:<10}{}\n", setting.name,
                        found == values_.end() ? "default" : shown(found->second), setting.text);
  }
  return text;
}

std::vector<std::string_view> SamplingSettings::names() {
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) names.push_back(setting.name);
  return names;
}

}  // namespace foretoken
