#pragma once
// Prompts of a benchmark: a JSONL file in the layout of MT-bench, one conversation per line. Not a
// dataset reader: other keys are passed over.

#include <string>
#include <vector>

namespace foretoken {

struct BenchPrompt {
  std::string category;            // empty: the line names none
  std::vector<std::string> turns;  // what the user says; at least one
};

// Lines {"turns": ["...", ...], "category": "..."}; blank lines are skipped. Throws Error naming
// file and line.
std::vector<BenchPrompt> read_prompts(const std::string& path);

}  // namespace foretoken
