#pragma once
// Autotuning at load: the backend measures how products of the model's shapes are computed best,
// and what it found is kept on disk, by processor, instruction set and threads, for the next start.
// Answers do not change by it. Whatever is wrong with the file costs a warning and the measuring.

#include <string>
#include <vector>

#include "backend/ops.h"

namespace foretoken {

struct AutotuneOptions {
  enum class Mode { kOff, kLoad, kCached };  // kLoad: measured at every start
  Mode mode = Mode::kOff;
  int max_rows = 32;   // of products that are tuned
  std::string folder;  // of the files; need not exist
};

// After all weights were packed, before the first step. Logs a table, usual against tuned.
void autotune(Ops& ops, const AutotuneOptions& options);

// Where plans for a machine are kept, and in which words the file names that machine.
std::string plan_file(const std::string& folder, const std::string& machine);

// What a file holds for a machine: nothing where there is none, or where it cannot be used, which
// is logged.
std::vector<TunedProduct> read_plans(const std::string& file, const std::string& machine);

// Replaces the file; false, and a warning, where that fails.
bool write_plans(const std::string& file, const std::string& machine,
                 const std::vector<TunedProduct>& products);

}  // namespace foretoken
