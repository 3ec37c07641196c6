#include "app/options/find_models.h"

#include <filesystem>
#include <system_error>

#include "app/machine/machine.h"
#include "checkpoint/hub/model_finder.h"
#include "checkpoint/hub/pull_report.h"

namespace foretoken {

namespace fs = std::filesystem;

HubSettings hub_settings(const FlagValues& values, const Environment& environment) {
  HubSettings settings = environment.hub;
  if (values.given("--download-dir")) settings.cache = values.text("--download-dir");
  if (values.on("--offline")) settings.offline = true;
  return settings;
}

void find_model(const FlagValues& values, const Environment& environment, DefaultModel usual,
                LoadOptions& load) {
  PullReport report;
  const ModelFinder finder(hub_settings(values, environment), report);
  if (values.given("--model-path"))
    load.model_folder = finder.checkpoint(values.text("--model-path"), values.text("--revision"));
  else if (usual == DefaultModel::kDemo)
    load.model_folder = demo_model_folder();
  load.tokenizer_path = load.model_folder;
  const std::string path = values.text("--tokenizer-path");
  if (path.empty()) return;
  std::error_code ignored;
  load.tokenizer_path =
      fs::is_regular_file(path, ignored) ? path : finder.checkpoint(path, {}, "--tokenizer-path");
}

void find_drafts(const FlagValues& values, const Environment& environment,
                 const LoadOptions& target, DraftOptions& draft) {
  draft.target_folder = target.model_folder;
  if (draft.algorithm.empty()) return;
  PullReport report;
  const ModelFinder finder(hub_settings(values, environment), report);
  if (const auto path = values.text("--speculative-draft-model-path"); !path.empty())
    draft.folder = finder.checkpoint(path, values.text("--speculative-draft-model-revision"),
                                     "--speculative-draft-model-path");
  if (const auto map = values.text("--speculative-token-map"); map == kAllTokens)
    draft.token_map = map;
  else if (!map.empty())
    draft.token_map = finder.file(map, "token map", "--speculative-token-map");
}

}  // namespace foretoken
