#pragma once
// FlagValues: the flags of one command line, checked against the table; and what reads a value that
// has to lie within bounds. What parses a command line is app/flags/flag_parser.h. Read-only once
// it is parsed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/flag.h"
#include "base/usage_error.h"

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

// The value of a flag that was given or has a default. Throw UsageError where it lies outside.
std::int64_t integer_within(const FlagValues& values, std::string_view flag, std::int64_t least,
                            std::int64_t most);
double number_within(const FlagValues& values, std::string_view flag, double least, double most);

}  // namespace foretoken
