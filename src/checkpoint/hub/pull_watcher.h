#pragma once
// PullWatcher: who is told how a download goes. Calls come from several threads, never two at once.

#include <cstdint>
#include <string>

namespace foretoken {

class PullWatcher {
 public:
  virtual ~PullWatcher() = default;
  // bytes: of all files together, those that are there already apart.
  virtual void on_start(const std::string& /*model*/, std::size_t /*files*/,
                        std::int64_t /*bytes*/) {}
  virtual void on_file(const std::string& /*path*/, std::int64_t /*bytes*/) {}
  virtual void on_bytes(std::int64_t /*bytes*/) {}       // of that file, more than were told before
  virtual void on_check(const std::string& /*path*/) {}  // its sum is computed
  virtual void on_done(const std::string& /*path*/) {}
  virtual void on_wait(const std::string& /*why*/) {}
};

}  // namespace foretoken
