#pragma once
// The --speculative-ngram-* and --speculative-suffix-* flags, checked and resolved, the former as
// SGLang does. Throws UsageError.

#include <string_view>

#include "app/flags/flag_parser.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken {

NgramOptions read_ngram_flags(const FlagValues& values);
SuffixOptions read_suffix_flags(const FlagValues& values);

// Whether the command line has any flag that begins like this.
bool has_flags_like(const FlagValues& values, std::string_view beginning);

}  // namespace foretoken
