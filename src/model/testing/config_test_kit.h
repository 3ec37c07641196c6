#pragma once
// Configs for tests of what config.json means: small sizes, and what a test changes of them.

#include <string>

#include <boost/json.hpp>

#include "checkpoint/testing/test_files.h"
#include "model/config/model_config.h"

namespace foretoken::model_config_test {

// A config with the keys that have no default; `changes` is a JSON object merged over it.
inline std::string config_text(const std::string& architecture, const std::string& changes = "{}") {
  boost::json::object config{{"architectures", {architecture}}, {"hidden_size", 64},
                             {"intermediate_size", 96},         {"num_hidden_layers", 3},
                             {"num_attention_heads", 4},        {"vocab_size", 100},
                             {"num_key_value_heads", 2}};
  const boost::json::value merged = boost::json::parse(changes);
  for (const auto& [key, value] : merged.as_object()) config[key] = value;
  return boost::json::serialize(config);
}

inline ModelConfig parse(const std::string& architecture, const std::string& changes = "{}") {
  return ModelConfig::parse(config_text(architecture, changes), "config.json");
}

inline std::string fault_of(const std::string& changes) {
  return error_of([&] { parse("LlamaForCausalLM", changes); });
}

}  // namespace foretoken::model_config_test
