#pragma once
// TuneOptions: the flags of `foretoken tune` beside those of the model, checked. Plain data.

#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag_parser.h"

namespace foretoken {

struct TuneOptions {
  std::string prompts;           // file; empty: the usual ones
  std::vector<int> batch_sizes;  // ascending, each once
  std::string out;
  bool record_only = false;
  std::string replay;  // record to replay; empty: one is made
  std::string costs;   // file; empty: measured, or the record's
  int validate = 0;
  int rounds = 9;  // of each
  int max_new_tokens = 128;
  int limit = 0;  // of prompts; 0: all
  int turns = 1;
  float temperature = 0;
  int record_steps = 8, record_topk = 8;
  double measure_seconds = 8;
};

// Throws UsageError.
TuneOptions resolve_tune_options(const FlagValues& values);

}  // namespace foretoken
