#include "app/flags/flag_parser.h"

#include <algorithm>
#include <cmath>

#include "app/flags/flag_match.h"
#include "base/read_number.h"

namespace foretoken {
namespace {

bool is_integer(const Flag& flag) {
  return flag.kind == FlagKind::kInteger || flag.kind == FlagKind::kIntegerList;
}

// As argparse: what begins with a dash is a flag, except numbers, texts with spaces, and "-".
bool looks_like_flag(const std::string& arg) {
  return arg.size() > 1 && arg.front() == '-' && arg.find(' ') == std::string::npos &&
         !read_number<double>(arg);
}

void check_value(const Flag& flag, const std::string& value) {
  const std::string where(flag.name());
  if (is_integer(flag) && !read_number<std::int64_t>(value))
    throw UsageError({.what = where, .expected = "an integer", .found = "'" + value + "'"});
  if (flag.kind == FlagKind::kNumber) {
    const auto number = read_number<double>(value);
    if (!number || !std::isfinite(*number))
      throw UsageError({.what = where, .expected = "a number", .found = "'" + value + "'"});
  }
  const bool restricted = flag.support == Support::kYes && !flag.choices.empty();
  if (!restricted || std::ranges::find(flag.choices, value) != flag.choices.end()) return;
  const auto begins_so = [&](std::string_view prefix) { return value.starts_with(prefix); };
  if (std::ranges::any_of(flag.choice_prefixes, begins_so)) return;
  if (std::ranges::find(flag.refused_choices, value) != flag.refused_choices.end())
    throw UsageError(where + " " + value + ": " + std::string(flag.refused_reason));
  throw UsageError({.what = where,
                    .expected = "one of " + join_names(flag.choices),
                    .found = "'" + value + "'"});
}

bool takes_list(const Flag& flag) {
  return flag.kind == FlagKind::kTextList || flag.kind == FlagKind::kIntegerList;
}

// The values of `flag` that stand at args[next...]; advances `next` past them.
std::vector<std::string> take_values(const Flag& flag, std::span<const std::string> args,
                                     std::size_t& next) {
  std::vector<std::string> values;
  const std::size_t most = takes_list(flag) ? args.size() : 1;
  while (values.size() < most && next < args.size() && !looks_like_flag(args[next]))
    values.push_back(args[next++]);
  if (values.empty()) throw UsageError(std::string(flag.name()) + " needs a value");
  return values;
}

// What was refused, as "flag value", gathered under the reasons in the order of the command line.
class Refusals {
 public:
  void consider(const Flag& flag, const std::vector<std::string>& values) {
    if (flag.support != Support::kRefused) return;
    if (!values.empty() && std::ranges::find(flag.choices, values.front()) != flag.choices.end())
      return;
    std::string item(flag.name());
    for (const auto& value : values) item += " " + value;
    const auto known = std::ranges::find(reasons_, flag.text, &Reason::text);
    if (known != reasons_.end())
      known->items += ", " + item;
    else
      reasons_.push_back({flag.text, item});
  }

  void throw_if_any() const {
    std::string sentence;
    for (const auto& reason : reasons_)
      sentence += (sentence.empty() ? "" : "; ") + reason.items + ": " + std::string(reason.text);
    if (!sentence.empty()) throw UsageError(sentence);
  }

 private:
  struct Reason {
    std::string_view text;
    std::string items;
  };
  std::vector<Reason> reasons_;
};

}  // namespace

NamesAndFlags parse_names_and_flags(std::span<const std::string> args, const FlagTable& table) {
  NamesAndFlags result{.names = {}, .flags = FlagValues(table)};
  Refusals refusals;
  for (std::size_t next = 0; next < args.size();) {
    const std::string& arg = args[next++];
    if (!looks_like_flag(arg)) {
      result.names.push_back(arg);
      continue;
    }
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const Flag& flag = match_flag(name, table);
    std::vector<std::string> values;
    if (equals != std::string::npos) {
      if (flag.kind == FlagKind::kSwitch)
        throw UsageError(std::string(flag.name()) + " takes no value, found '" +
                         arg.substr(equals + 1) + "'");
      values.push_back(arg.substr(equals + 1));
    } else if (flag.kind != FlagKind::kSwitch) {
      values = take_values(flag, args, next);
    }
    for (const auto& value : values) check_value(flag, value);
    refusals.consider(flag, values);
    result.flags.set(flag, std::move(values));
  }
  refusals.throw_if_any();
  return result;
}

FlagValues parse_flags(std::span<const std::string> args, const FlagTable& table) {
  NamesAndFlags parsed = parse_names_and_flags(args, table);
  if (!parsed.names.empty())
    throw UsageError("unexpected argument '" + parsed.names.front() + "': values follow a --flag");
  return std::move(parsed.flags);
}

std::vector<std::string> notes_of(const FlagValues& values) {
  std::vector<std::string> notes;
  for (const auto& group : values.table())
    for (const auto& flag : group.flags)
      if (flag.support == Support::kNoEffect && values.given(flag.name()))
        notes.push_back(std::string(flag.name()) +
                        " has no effect here: " + std::string(flag.text));
  return notes;
}

}  // namespace foretoken
