#pragma once
// DraftCandidates: what lies near a model and could draft for it: beside it in its folder's folder,
// and in the cache of the hub. Reads configs, and with `compares_tokens` tokenizers; no weights.
// For hints and reports: nothing is taken that was not asked for. Any thread.

#include <filesystem>
#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace foretoken {

struct DraftCandidate {
  std::string algorithm;  // that would use it
  std::string path;       // as --speculative-draft-model-path takes it
  std::string fault;      // why it cannot draft for this model; empty: it can
};

struct CandidateSearch {
  std::string model;            // folder or file
  std::filesystem::path cache;  // of the hub
  bool compares_tokens = false;
};

// Those that can, first. Broken neighbours are left out, and so is what is larger than half of the
// model.
std::vector<DraftCandidate> find_draft_candidates(const CandidateSearch& search,
                                                  const ModelConfig& target);

}  // namespace foretoken
