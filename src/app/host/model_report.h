#pragma once
// ModelReport: what a model is, before anything of it is loaded: sizes, types of its tensors,
// tokenizer, chat template, memory, who could draft for it, and why it cannot be served where it
// cannot. For `foretoken inspect`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/host/draft_candidates.h"
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
  std::size_t kv_bytes_per_token = 0;
  std::int64_t context = 0;    // tokens of a request, for memory()
  int requests = 0;            // for memory(): all of that length
  std::string drafts_unasked;  // algorithms, as --speculative-algorithm takes them
  std::vector<DraftCandidate> drafters;
  bool has_chat_template = false;
  bool reads_tools = false;         // the template
  std::vector<std::string> faults;  // why it is not served; empty: it is

  Type all() const;            // of all types together
  std::size_t memory() const;  // weights, and keys and values of all requests
};

struct ReportWishes {
  std::optional<std::int64_t> context;  // absent: the model's
  int requests = 1;
  std::string cache;  // of the hub, where draft models may be
};

// Throws nothing for a model that is wrong: that is what the report is about.
ModelReport inspect_model(const LoadOptions& load, const ReportWishes& wishes);

std::string report_text(const ModelReport& report);
std::string report_json(const ModelReport& report);

}  // namespace foretoken
