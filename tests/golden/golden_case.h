#pragma once
// What tools/golden/make_golden.py wrote: prompts for tiny random checkpoints and the logits that
// Hugging Face transformers gives for them. For tests only.

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct GoldenCase {
  std::string name;
  std::string checkpoint;  // folder
  std::string config;      // text of config.json
  std::vector<Token> tokens;
  std::optional<std::int64_t> context_length;  // absent: the default

  std::vector<std::int64_t> rows;  // positions whose outputs are known
  // logits [rows][vocab]; in some cases layer_1_input and last_hidden [rows][hidden]
  std::map<std::string, std::vector<std::vector<float>>> known;
};
inline void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.name; }

std::vector<GoldenCase> read_golden_cases();

}  // namespace foretoken
