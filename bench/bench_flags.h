#pragma once
// The flags of foretoken-bench and of its subcommand `accept`, as tables for the program's own flag
// parser (app/flags/flag_parser.h), and what they mean. Pure functions.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/flags/flag_parser.h"
#include "backend/backend.h"
#include "bench/contender.h"
#include "model/config/quantization.h"

namespace foretoken {

// Of a step's times against the machine's roofs.
struct StepOptions {
  std::string model;  // folder or GGUF file; empty: a made-up one of this shape and type
  std::string shape;
  std::string dtype;
  Quantization quantization;
  std::optional<DType> kv_dtype;  // absent: that of the weights
  BackendConfig backend;
  int threads = 0;  // 0: usable cores
  int context = 0;
  int rounds = 0;
  std::vector<int> nodes;
  std::vector<int> sequences;
  std::vector<int> prefill;
};

struct AcceptOptions {
  std::string checkpoints;
  std::string model;
  std::vector<std::string> methods;
  std::string flags;  // of all methods alike
  std::vector<std::string> budgets;
  std::vector<std::string> couplings;  // empty: of no interest, at temperature 0
  std::string prompts;
  AnswerOptions answers;
  int max_turns = 1;
  std::vector<int> at_once = {1};  // each with a table of its own
  int limit = 0;                   // 0: all prompts
  int repeats = 1;
  int threads = 0;         // 0: usable cores
  bool own_plain = false;  // each method with its own engine while drafts are turned off
  bool predicts = false;
  bool is_verbose = false;
};

FlagTable step_flags();
FlagTable accept_flags();

// Throw UsageError for what cannot be meant.
int at_least(int least, const FlagValues& values, std::string_view name);
StepOptions read_step_options(std::span<const std::string> args);
AcceptOptions read_accept_options(std::span<const std::string> args);

}  // namespace foretoken
