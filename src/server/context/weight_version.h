#pragma once
// WeightVersion: the name of the weights that are served, as the operator calls them; answers show
// it. Thread-safe.

#include <mutex>
#include <string>
#include <utility>

namespace foretoken {

class WeightVersion {
 public:
  explicit WeightVersion(std::string name) : name_(std::move(name)) {}

  std::string get() const {
    const std::lock_guard lock(mutex_);
    return name_;
  }
  void set(std::string name) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
  }

 private:
  mutable std::mutex mutex_;
  std::string name_;
};

}  // namespace foretoken
