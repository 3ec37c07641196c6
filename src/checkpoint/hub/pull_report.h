#pragma once
// PullReport: the progress of a download as lines of text: on a terminal one line that is written
// over, else one when a file begins and one every few seconds. Calls as PullWatcher has them.

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/hub/pull_watcher.h"

namespace foretoken {

class PullReport final : public PullWatcher {
 public:
  struct Output {
    std::function<void(const std::string&)> write;
    bool is_terminal = false;
    std::function<double()> now;  // seconds
  };

  PullReport();  // on standard error
  explicit PullReport(Output output) : output_(std::move(output)) {}

  void on_start(const std::string& model, std::size_t files, std::int64_t bytes) override;
  void on_file(const std::string& path, std::int64_t bytes) override;
  void on_bytes(std::int64_t bytes) override;
  void on_check(const std::string& path) override;
  void on_done(const std::string& path) override;
  void on_wait(const std::string& why) override;

 private:
  void show(const std::string& text, bool is_passing);
  std::string state() const;

  Output output_;
  std::string path_;
  std::int64_t file_bytes_ = 0, file_done_ = 0;
  std::int64_t all_bytes_ = 0, all_done_ = 0;
  double started_ = 0, shown_ = 0;
  bool has_passing_line_ = false;
};

}  // namespace foretoken
