#pragma once
// From flags to Options: what the flags and the environment mean together, checked. Not reading a
// command line: see flag_parser.h. Pure functions, but for the file system, which they ask where
// checkpoints are.

#include "app/flags/flag_parser.h"
#include "app/machine/environment.h"
#include "app/options/options.h"

namespace foretoken {

// What stands for --model-path where it is not given.
enum class DefaultModel { kDemo, kNone };

// For `serve` and `generate` (whose tables hold the flags needed). Throws UsageError or Error.
Options resolve_options(const FlagValues& values, const Environment& environment,
                        DefaultModel usual = DefaultModel::kDemo);

// The tokenizer's part of the above, for `tokenize`: --model-path, --tokenizer-path,
// --chat-template.
LoadOptions resolve_text_options(const FlagValues& values, const Environment& environment,
                                 DefaultModel usual = DefaultModel::kDemo);

}  // namespace foretoken
