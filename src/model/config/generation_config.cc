#include "model/config/generation_config.h"

#include <algorithm>
#include <limits>

#include "base/json_text.h"
#include "checkpoint/model_files.h"

namespace foretoken {

std::vector<Token> eos_tokens(const FileFields& fields) {
  std::vector<Token> eos;
  for (const std::int64_t id :
       fields.integers("eos_token_id", {-1, std::numeric_limits<Token>::max()}))
    if (id >= 0) eos.push_back(static_cast<Token>(id));
  return eos;
}

GenerationConfig GenerationConfig::parse(const std::string& json, const std::string& where) {
  const boost::json::object object = read_json_object(json, where);
  const FileFields fields(object, where);
  GenerationConfig config;
  config.temperature = fields.number("temperature");
  if (const auto top_k = fields.integer("top_k", {-1})) config.top_k = static_cast<int>(*top_k);
  config.top_p = fields.number("top_p");
  config.min_p = fields.number("min_p");
  config.repetition_penalty = fields.number("repetition_penalty");
  config.eos = eos_tokens(fields);
  return config;
}

GenerationConfig read_generation_config(const std::string& folder) {
  const auto files = open_model_files(folder);
  const auto text = files->read("generation_config.json");
  if (!text) return {};
  return GenerationConfig::parse(*text, files->where("generation_config.json"));
}

std::vector<Token> stop_tokens_of(const std::string& folder, const std::vector<Token>& config_eos,
                                  std::optional<Token> tokenizer_eos) {
  std::vector<Token> stops = read_generation_config(folder).eos;
  if (stops.empty()) stops = config_eos;
  if (tokenizer_eos) stops.push_back(*tokenizer_eos);
  std::ranges::sort(stops);
  stops.erase(std::ranges::unique(stops).begin(), stops.end());
  return stops;
}

}  // namespace foretoken
