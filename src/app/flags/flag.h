#pragma once
// Flag: one row of the table of command-line flags: its names, what values it takes, and whether
// this program does what it says, accepts it without effect, or refuses it with a reason. A new
// feature moves its rows to kYes and reads the value in options.cc; nothing else knows which flags
// exist. Plain data; texts are literals.

#include <string_view>
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
  std::vector<std::string_view> refused_choices = {};  // values of SGLang's that are not supported
  std::string_view refused_reason = {};                // why
  bool is_gathered = false;  // a list that may be given in parts; else the last of them counts

  std::string_view name() const { return names.front(); }
};

// A heading of the help and its flags.
struct FlagGroup {
  std::string_view title;
  std::vector<Flag> flags;
};

using FlagTable = std::vector<FlagGroup>;

FlagGroup model_flags();
FlagGroup loading_flags();
FlagGroup compute_flags();
FlagGroup kernel_flags();
FlagGroup parallel_flags();
FlagGroup expert_flags();
FlagGroup scheduling_flags();
FlagGroup cache_flags();
FlagGroup http_flags();
FlagGroup serving_flags();
FlagGroup logging_flags();
FlagGroup observe_flags();
FlagGroup speculative_flags();
FlagGroup feature_flags();
FlagGroup multimodal_flags();
FlagGroup tune_own_flags();

// The flags of each subcommand.
FlagTable serve_flags();
FlagTable generate_flags();
FlagTable tokenize_flags();
FlagTable tune_flags();

}  // namespace foretoken
