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
  return {"Server:", fmt::format("  model    {}", server.model_path),
          fmt::format("  name     {}", server.served_model_name),
          fmt::format("  address  {}:{}", server.host, server.port),
          fmt::format("  drafts   {}", drafts_text(options.draft))};
}

}  // namespace foretoken
