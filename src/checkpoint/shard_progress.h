#pragma once
// The progress bar of loading, in SGLang's words, one line per finished shard on standard error,
// where the log tells as much as that. Not a line of the log:
// "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.20s/it]".

#include <chrono>
#include <string>

namespace foretoken {

class ShardProgress {
 public:
  // format: "safetensors" or "pt".
  ShardProgress(std::string format, int shards, bool is_shown);
  void finish_one();

  // The line after `done` of `total` shards; seconds since the start.
  static std::string line(const std::string& format, int done, int total, double seconds);

 private:
  void print() const;
  std::string format_;
  int total_;
  int done_ = 0;
  bool is_shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace foretoken
