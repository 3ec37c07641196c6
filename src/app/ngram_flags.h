#pragma once
// The --speculative-ngram-* flags, checked and resolved as SGLang does. Throws UsageError.

#include "app/flag_parser.h"
#include "spec/ngram_options.h"

namespace foretoken {

NgramOptions read_ngram_flags(const FlagValues& values);

// Whether the command line has any of them.
bool has_ngram_flags(const FlagValues& values);

}  // namespace foretoken
