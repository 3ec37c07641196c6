#pragma once
// ModelFinder: from what a flag names to a path: a folder or file of this machine, else a name of
// the hub that the cache holds, else one that is downloaded into it. Looking and downloading are
// two steps, so that all that is named can be looked for before anything is downloaded. One thread
// at a time.

#include <memory>
#include <string>

#include "checkpoint/hub/hub_name.h"
#include "checkpoint/hub/hub_settings.h"
#include "checkpoint/hub/pull.h"
#include "checkpoint/hub/pull_watcher.h"

namespace foretoken {

// What a flag names, and what the cache must hold of it.
struct ModelWish {
  std::string name = {};  // or a path
  std::string revision = {};
  std::string flag = "--model-path";
  bool needs_tokenizer = false;
};

// What was found: a path, or a download that ends in one.
class FoundModel {
 public:
  explicit FoundModel(std::string path) : path_(std::move(path)) {}
  FoundModel(PlannedPull pull, std::string name, std::string flag)
      : pull_(std::make_unique<PlannedPull>(std::move(pull))),
        name_(std::move(name)),
        flag_(std::move(flag)) {}

  bool is_here() const { return !pull_ || pull_->is_complete(); }
  // Downloads what is missing. Throws Error.
  std::string path();

 private:
  std::string path_;
  std::unique_ptr<PlannedPull> pull_;  // null: the path is known
  std::string name_, flag_;            // for errors
};

class ModelFinder {
 public:
  // watcher: told of downloads; outlives this and what it finds.
  ModelFinder(HubSettings settings, PullWatcher& watcher)
      : settings_(std::move(settings)), watcher_(watcher) {}

  // A checkpoint: its folder or GGUF file. A GGUF file that a folder holds in the place of other
  // weights stands for the folder. Throws Error saying where it was looked for.
  FoundModel find(const ModelWish& wish) const;
  std::string checkpoint(const std::string& path_or_name, const std::string& revision) const {
    return find({.name = path_or_name, .revision = revision}).path();
  }

  // A file of its own: a path, or "owner/name/file" of the hub's revision main. what: "token map".
  FoundModel find_file(const std::string& path_or_name, const std::string& what,
                       const std::string& flag) const;
  std::string file(const std::string& path_or_name, const std::string& what,
                   const std::string& flag) const {
    return find_file(path_or_name, what, flag).path();
  }

 private:
  FoundModel find_named(const HubName& name, const ModelWish& wish) const;
  FoundModel plan(const HubName& name, const std::string& revision, const std::string& flag) const;
  FoundModel completed(const HubName& name, const ModelWish& wish, const std::string& cached) const;

  HubSettings settings_;
  PullWatcher& watcher_;
};

}  // namespace foretoken
