#include "base/flag_values.h"

#include <fmt/format.h>

#include "base/read_number.h"

namespace foretoken {

const Flag& FlagValues::flag(std::string_view name) const {
  for (const auto& group : table_)
    for (const auto& flag : group.flags)
      if (flag.name() == name) return flag;
  CHECK(false) << "no flag " << name << " in the table";
  return table_.front().flags.front();
}

std::string FlagValues::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second.front() : std::string(flag(name).default_value);
}

std::optional<std::int64_t> FlagValues::integer(std::string_view name) const {
  return read_number<std::int64_t>(text(name));
}

std::optional<double> FlagValues::number(std::string_view name) const {
  return read_number<double>(text(name));
}

std::vector<std::string> FlagValues::list(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : std::vector<std::string>{};
}

void FlagValues::set(const Flag& flag, std::vector<std::string> values) {
  auto& kept = values_[std::string(flag.name())];
  if (!flag.is_gathered) kept.clear();
  kept.insert(kept.end(), values.begin(), values.end());
}

std::int64_t integer_within(const FlagValues& values, std::string_view flag, std::int64_t least,
                            std::int64_t most) {
  const std::int64_t value = *values.integer(flag);
  if (value < least || value > most)
    throw UsageError({.what = std::string(flag),
                      .expected = fmt::format("{} to {}", least, most),
                      .found = std::to_string(value)});
  return value;
}

double number_within(const FlagValues& values, std::string_view flag, double least, double most) {
  const double value = *values.number(flag);
  if (!(value >= least && value <= most))
    throw UsageError({.what = std::string(flag),
                      .expected = fmt::format("{} to {}", least, most),
                      .found = values.text(flag)});
  return value;
}

}  // namespace foretoken
