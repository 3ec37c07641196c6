#pragma once
// Flag: one row of the table of command-line flags: its names, what values it takes, and whether
// this program does what it says, accepts it without effect, or refuses it with a reason. Most rows
// are in app/flags; a drafter's are in its own file, which is why this is here. Plain data; texts
// live as long as the program.

#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

enum class FlagKind { kSwitch, kText, kInteger, kNumber, kTextList, kIntegerList };

enum class Support {
  kYes,       // does what `text` says
  kNoEffect,  // accepted with one log line, which gives `text` as the reason
  kRefused,   // an error that gives `text` as the reason, except for the values in `choices`
};

struct Flag {
  std::vector<std::string_view> names;  // SGLang's name first; all with their leading dashes
  FlagKind kind = FlagKind::kText;
  Support support = Support::kYes;
  std::string_view text = {};           // help of one line, or the reason
  std::string_view default_value = {};  // as on the command line; empty: none, or computed at start
  std::string_view default_note = {};   // replaces the default in the help: "computed"
  std::vector<std::string_view> choices = {};          // permitted values; empty: any
  std::vector<std::string_view> choice_prefixes = {};  // and values that begin so
  std::vector<std::string_view> refused_choices = {};  // values of SGLang's that are not supported
  std::string_view refused_reason = {};                // why
  bool is_gathered = false;  // a list that may be given in parts; else the last of them counts

  std::string_view name() const { return names.front(); }
};

using FlagNames = std::vector<std::string_view>;

// Accepted without effect, because of `reason`.
inline Flag idle(FlagNames names, FlagKind kind, std::string_view reason,
                 std::string_view default_value = {}) {
  return {.names = std::move(names),
          .kind = kind,
          .support = Support::kNoEffect,
          .text = reason,
          .default_value = default_value};
}

// Refused with `reason`, save for the default, which asks for what is the case anyway.
inline Flag refused(FlagNames names, FlagKind kind, std::string_view reason,
                    std::string_view default_value = {}) {
  Flag flag{.names = std::move(names),
            .kind = kind,
            .support = Support::kRefused,
            .text = reason,
            .default_value = default_value};
  if (!default_value.empty()) flag.choices = {default_value};
  return flag;
}

// A heading of the help and its flags.
struct FlagGroup {
  std::string_view title;
  std::vector<Flag> flags;
};

using FlagTable = std::vector<FlagGroup>;

}  // namespace foretoken
