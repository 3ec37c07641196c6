#pragma once
// The table of command-line flags: groups of rows, and the groups of each subcommand. A new feature
// moves its rows to kYes and reads the value in options.cc; nothing else knows which flags exist,
// but for the flags of single drafters (draft/algorithm.h). Pure functions.

#include "base/flag.h"

namespace foretoken {

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
FlagTable chat_flags();
FlagTable generate_flags();
FlagTable tokenize_flags();
FlagTable tune_flags();
FlagTable inspect_flags();
FlagTable pull_flags();
FlagTable list_flags();
FlagTable rm_flags();
FlagTable devices_flags();

}  // namespace foretoken
