#pragma once
// ModelReport: what a model is, before anything of it is loaded: sizes, types of its tensors,
// tokenizer, chat template, and why it cannot be served where it cannot. For `foretoken inspect`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/options/options.h"
#include "model/config/model_config.h"

namespace foretoken {

struct ModelReport {
  struct Type {
    int tensors = 0;
    std::int64_t elements = 0;
    std::size_t bytes = 0;
  };

  std::string model;   // folder or file
  std::string format;  // of the weights; empty: there are none
  std::map<std::string, Type> types;
  std::optional<ModelConfig> config;
  std::optional<std::int64_t> tokens;  // of the tokenizer
  bool has_chat_template = false;
  bool reads_tools = false;         // the template
  std::vector<std::string> faults;  // why it is not served; empty: it is

  Type all() const;  // of all types together
};

// Throws nothing for a model that is wrong: that is what the report is about.
ModelReport inspect_model(const LoadOptions& load);

std::string report_text(const ModelReport& report);
std::string report_json(const ModelReport& report);

}  // namespace foretoken
