#pragma once
// From flags to Options: what the flags and the environment mean together, checked. Not reading a
// command line: see flag_parser.h. Pure functions, but for finding models (find_models.h).

#include "app/flags/flag_parser.h"
#include "app/machine/environment.h"
#include "app/options/find_models.h"
#include "app/options/options.h"

namespace foretoken {

// For `serve` and `generate` (whose tables hold the flags needed). Throws UsageError or Error.
Options resolve_options(const FlagValues& values, const Environment& environment,
                        DefaultModel usual = DefaultModel::kDemo);

// The tokenizer's part of the above, for `tokenize`: --model-path, --tokenizer-path,
// --chat-template.
LoadOptions resolve_text_options(const FlagValues& values, const Environment& environment,
                                 DefaultModel usual = DefaultModel::kDemo);

}  // namespace foretoken
