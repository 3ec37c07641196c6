#pragma once
// Reads a command line against a FlagTable with the habits of Python's argparse: any unambiguous
// prefix of a long flag, --flag=value, lists that run to the next flag, the last of a repeated flag
// wins. Not validation of meanings: see options.h. Pure functions of their arguments.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/flags/flag.h"
#include "app/flags/usage_error.h"

namespace foretoken {

// The flags of one command line. Values have been checked against kind and choices; flags that were
// not given answer with their default. Asking for a flag that the table lacks is a bug.
class FlagValues {
 public:
  explicit FlagValues(FlagTable table) : table_(std::move(table)) {}

  const FlagTable& table() const { return table_; }
  bool given(std::string_view name) const { return values_.contains(std::string(name)); }
  bool on(std::string_view name) const { return given(name); }       // kSwitch
  std::string text(std::string_view name) const;                     // empty: no default either
  std::optional<std::int64_t> integer(std::string_view name) const;  // kInteger
  std::optional<double> number(std::string_view name) const;         // kNumber
  std::vector<std::string> list(std::string_view name) const;        // kTextList, kIntegerList

  void set(const Flag& flag, std::vector<std::string> values);

 private:
  const Flag& flag(std::string_view name) const;
  FlagTable table_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;  // by Flag::name()
};

// Throws UsageError for what cannot be read and for flags and values that are refused.
FlagValues parse_flags(std::span<const std::string> args, const FlagTable& table);

// One line for each flag that was given and has no effect here.
std::vector<std::string> notes_of(const FlagValues& values);

}  // namespace foretoken
