#pragma once
// BlobDownload: one file of the hub into the cache: pieces over several connections, each taken up
// where it was cut; then the sum. Not the choice of files (model_choice.h), nor links and locks
// (pull.h).

#include <filesystem>
#include <string>

#include "checkpoint/hub/hub_settings.h"
#include "checkpoint/hub/pull_watcher.h"

namespace foretoken {

struct BlobRequest {
  std::string url;
  std::string name;  // for errors and the watcher
  std::string sum;
  std::int64_t size = 0;
};

// The blob is at its place afterwards, whole and checked. Throws Error; what was read stays for the
// next time.
void download_blob(const HubSettings& settings, const BlobRequest& request,
                   const std::filesystem::path& blob, PullWatcher& watcher);

}  // namespace foretoken
