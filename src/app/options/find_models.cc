#include "app/options/find_models.h"

#include <filesystem>
#include <system_error>

#include "app/machine/machine.h"

namespace foretoken {

namespace fs = std::filesystem;

HubSettings hub_settings(const FlagValues& values, const Environment& environment) {
  HubSettings settings = environment.hub;
  if (values.given("--download-dir")) settings.cache = values.text("--download-dir");
  if (values.on("--offline")) settings.offline = true;
  return settings;
}

ModelSearch::ModelSearch(const FlagValues& values, const Environment& environment,
                         DefaultModel usual, const std::string& algorithm)
    : report_(std::make_unique<PullReport>()),
      model_(usual == DefaultModel::kDemo && !values.given("--model-path") ? demo_model_folder()
                                                                           : std::string{}) {
  const ModelFinder finder(hub_settings(values, environment), *report_);
  const std::string tokenizer = values.text("--tokenizer-path");
  if (values.given("--model-path"))
    model_ =
        finder.find({.name = values.text("--model-path"),
                     .revision = values.text("--revision"),
                     .needs_tokenizer = tokenizer.empty() && !values.on("--skip-tokenizer-init")});
  std::error_code ignored;
  if (fs::is_regular_file(tokenizer, ignored))
    tokenizer_.emplace(tokenizer);
  else if (!tokenizer.empty())
    tokenizer_ =
        finder.find({.name = tokenizer, .flag = "--tokenizer-path", .needs_tokenizer = true});
  if (algorithm.empty()) return;
  if (const auto path = values.text("--speculative-draft-model-path"); !path.empty())
    draft_ = finder.find({.name = path,
                          .revision = values.text("--speculative-draft-model-revision"),
                          .flag = "--speculative-draft-model-path"});
  if (const auto map = values.text("--speculative-token-map"); map == kAllTokens)
    token_map_.emplace(map);
  else if (!map.empty())
    token_map_ = finder.find_file(map, "token map", "--speculative-token-map");
}

bool ModelSearch::is_all_here() const {
  return model_.is_here() && (!tokenizer_ || tokenizer_->is_here()) &&
         (!draft_ || draft_->is_here()) && (!token_map_ || token_map_->is_here());
}

void ModelSearch::finish(LoadOptions& load) {
  load.model_folder = model_.path();
  load.tokenizer_path = tokenizer_ ? tokenizer_->path() : load.model_folder;
}

void ModelSearch::finish(LoadOptions& load, DraftOptions& draft) {
  finish(load);
  draft.target_folder = load.model_folder;
  draft.folder = draft_ ? draft_->path() : std::string{};
  draft.token_map = token_map_ ? token_map_->path() : std::string{};
}

}  // namespace foretoken
