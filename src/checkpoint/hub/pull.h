#pragma once
// Pull: what is missing of a model, from the hub into the cache: the list, the choice, the blobs
// one after the other, each under its lock, the links. The branch points to the commit only when
// all of it is there. Two processes at once download once.

#include <memory>
#include <string>

#include "checkpoint/hub/hub_name.h"
#include "checkpoint/hub/hub_settings.h"
#include "checkpoint/hub/pull_watcher.h"

namespace foretoken {

// One that has asked the hub what there is, and has downloaded nothing.
class PlannedPull {
 public:
  // revision: a branch, tag or commit; empty: main. watcher outlives this. Throws Error.
  PlannedPull(const HubSettings& settings, const HubName& name, const std::string& revision,
              PullWatcher& watcher);
  ~PlannedPull();
  PlannedPull(PlannedPull&&) noexcept;

  bool is_complete() const;  // nothing is missing
  // Downloads what is. Returns the folder of the model, the first part of its GGUF file, or the
  // file that the name names. Throws Error.
  std::string run();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Both in one.
std::string pull(const HubSettings& settings, const HubName& name, const std::string& revision,
                 PullWatcher& watcher);

}  // namespace foretoken
