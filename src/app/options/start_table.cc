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

std::string start_table(const Options& options) {
  const ServerConfig& server = options.server;
  return fmt::format(
      "Server:\n"
      "  model    {}\n"
      "  name     {}\n"
      "  address  {}:{}\n"
      "  drafts   {}",
      server.model_path, server.served_model_name, server.host, server.port,
      drafts_text(options.draft));
}

}  // namespace foretoken
