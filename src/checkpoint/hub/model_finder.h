#pragma once
// ModelFinder: from what a flag names to a path: a folder or file of this machine, else a name of
// the hub that the cache holds, else one that is downloaded into it. One thread at a time.

#include <memory>
#include <string>

#include "checkpoint/hub/hub_settings.h"
#include "checkpoint/hub/pull_watcher.h"

namespace foretoken {

class ModelFinder {
 public:
  // watcher: told of downloads; outlives this.
  ModelFinder(HubSettings settings, PullWatcher& watcher)
      : settings_(std::move(settings)), watcher_(watcher) {}

  // A checkpoint: its folder or GGUF file. A GGUF file that a folder holds in the place of other
  // weights stands for the folder. Throws Error saying where it was looked for.
  std::string checkpoint(const std::string& path_or_name, const std::string& revision,
                         const std::string& flag = "--model-path") const;

  // A file of its own: a path, or "owner/name/file" of the hub's revision main. what: "token map".
  std::string file(const std::string& path_or_name, const std::string& what,
                   const std::string& flag) const;

 private:
  HubSettings settings_;
  PullWatcher& watcher_;
};

}  // namespace foretoken
