#pragma once
// From flags to Options: what the flags and the environment mean together, checked. Not reading a
// command line: see flag_parser.h. Pure functions, but for finding models (find_models.h).

#include "app/flags/flag_parser.h"
#include "app/machine/environment.h"
#include "app/options/find_models.h"
#include "app/options/options.h"

namespace foretoken {

// Options in two steps, for who checks or begins something before a download: first all that flags
// say, checked, and where the models are; then the models themselves.
class OptionsOnTheWay {
 public:
  // Downloads nothing. values and environment outlive this. Throws UsageError or Error.
  OptionsOnTheWay(const FlagValues& values, const Environment& environment,
                  DefaultModel usual = DefaultModel::kDemo);

  // What is known so far: all but where models are and what they say.
  const Options& so_far() const { return options_; }
  bool downloads() const { return !search_.is_all_here(); }
  // Downloads what is missing. Once. Throws Error.
  Options finish();

 private:
  const FlagValues& values_;
  const Environment& environment_;
  Options options_;
  ModelSearch search_;
};

// For `serve` and `generate` (whose tables hold the flags needed). Throws UsageError or Error.
Options resolve_options(const FlagValues& values, const Environment& environment,
                        DefaultModel usual = DefaultModel::kDemo);

// The tokenizer's part of the above, for `tokenize`: --model-path, --tokenizer-path,
// --chat-template.
LoadOptions resolve_text_options(const FlagValues& values, const Environment& environment,
                                 DefaultModel usual = DefaultModel::kDemo);

}  // namespace foretoken
