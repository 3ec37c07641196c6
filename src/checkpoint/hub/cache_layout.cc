#include "checkpoint/hub/cache_layout.h"

#include <fstream>
#include <string_view>

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--";

std::string folder_of(std::string id) {
  if (const auto slash = id.find('/'); slash != std::string::npos) id.replace(slash, 1, "--");
  return std::string(kPrefix) + id;
}

}  // namespace

CacheLayout::CacheLayout(const fs::path& cache, const std::string& id)
    : repository_(cache / folder_of(id)), locks_(cache / ".locks" / folder_of(id)) {}

std::string CacheLayout::commit_of(const std::string& revision) const {
  std::error_code ignored;
  const fs::path ref = refs() / revision;
  if (!fs::is_regular_file(ref, ignored)) return revision;
  std::ifstream in(ref);
  std::string commit;
  in >> commit;
  return commit.empty() ? revision : commit;
}

std::optional<std::string> id_of_repository(const std::string& folder) {
  if (!folder.starts_with(kPrefix)) return std::nullopt;
  std::string id = folder.substr(kPrefix.size());
  if (const auto dashes = id.find("--"); dashes != std::string::npos) id.replace(dashes, 2, "/");
  return id;
}

}  // namespace foretoken
