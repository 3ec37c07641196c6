#include "app/options/start_table.h"

#include <fmt/format.h>

namespace foretoken {
namespace {

std::string drafts_text(const DraftOptions& draft) {
  if (draft.algorithm.empty()) return "none";
  return draft.folder.empty() ? draft.algorithm
                              : fmt::format("{} from {}", draft.algorithm, draft.folder);
}

}  // namespace

std::vector<std::string> start_table(const Options& options) {
  const ServerConfig& server = options.server;
  std::vector<std::string> lines{"Server:", fmt::format("  model    {}", server.model_path)};
  if (options.load.model_folder != server.model_path)
    lines.push_back(fmt::format("  from     {}", options.load.model_folder));
  lines.push_back(fmt::format("  name     {}", server.served_model_name));
  lines.push_back(fmt::format("  address  {}:{}", server.host, server.port));
  lines.push_back(fmt::format("  drafts   {}", drafts_text(options.draft)));
  return lines;
}

}  // namespace foretoken
