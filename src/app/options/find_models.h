#pragma once
// Which files the flags of models mean: folders and files of this machine, models of the hub in its
// cache, or models of the hub that are downloaded here and now, with progress on standard error.

#include <memory>
#include <optional>
#include <string>

#include "app/flags/flag_parser.h"
#include "app/machine/environment.h"
#include "app/options/options.h"
#include "checkpoint/hub/model_finder.h"
#include "checkpoint/hub/pull_report.h"

namespace foretoken {

// What stands for --model-path where it is not given.
enum class DefaultModel { kDemo, kNone };

// The environment's, and what --download-dir and --offline say, where the table has them.
HubSettings hub_settings(const FlagValues& values, const Environment& environment);

// The models that the flags name, looked for before any of them is downloaded. One thread.
class ModelSearch {
 public:
  // Looks here and in the cache, and asks the hub what it has of the rest. algorithm: who drafts,
  // empty: nobody does, so that no draft model is looked for. Throws Error.
  ModelSearch(const FlagValues& values, const Environment& environment, DefaultModel usual,
              const std::string& algorithm);

  bool is_all_here() const;
  // Downloads what is missing. Fills in model_folder and tokenizer_path. Throws Error.
  void finish(LoadOptions& load);
  // The same, and folder, token_map and target_folder of what drafts by a model.
  void finish(LoadOptions& load, DraftOptions& draft);

 private:
  std::unique_ptr<PullReport> report_;  // stays where it is
  FoundModel model_;
  std::optional<FoundModel> tokenizer_, draft_, token_map_;
};

}  // namespace foretoken
