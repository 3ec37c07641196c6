#pragma once
// generation_config.json: what a model's makers recommend for sampling. Absent keys stay absent.

#include <optional>
#include <string>
#include <vector>

#include "base/file_fields.h"
#include "base/types.h"

namespace foretoken {

struct GenerationConfig {
  std::optional<double> temperature;
  std::optional<int> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::vector<Token> eos;  // eos_token_id, one or several

  static GenerationConfig parse(const std::string& json, const std::string& where);
};

// eos_token_id, one or several; -1, which some write where there is none, is none.
std::vector<Token> eos_tokens(const FileFields& fields);

// Of a checkpoint folder or GGUF file; all absent when the file is. Throws Error for a broken file.
GenerationConfig read_generation_config(const std::string& folder);

// Tokens that end an answer: generation_config.json's, else `config_eos`, config.json's; and the
// tokenizer's own end token, where there is one. Sorted, each once.
std::vector<Token> stop_tokens_of(const std::string& folder, const std::vector<Token>& config_eos,
                                  std::optional<Token> tokenizer_eos);

}  // namespace foretoken
