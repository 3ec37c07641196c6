#include "checkpoint/shard_progress.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace foretoken {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  const long hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{:02}:{:02}", minutes, whole % 60);
}

}  // namespace

ShardProgress::ShardProgress(std::string format, int shards, bool is_shown)
    : format_(std::move(format)), total_(shards), is_shown_(is_shown) {
  print();
}

void ShardProgress::finish_one() {
  ++done_;
  print();
}

std::string ShardProgress::line(const std::string& format, int done, int total, double seconds) {
  std::string remaining = "?", rate = "?it/s";
  if (done > 0 && seconds > 0.0) {
    const double each = seconds / done;
    remaining = clock_text(each * (total - done));
    rate = each < 1.0 ? fmt::format("{:5.2f}it/s", 1.0 / each) : fmt::format("{:5.2f}s/it", each);
  }
  return fmt::format("Loading {} checkpoint shards: {:3.0f}% Completed | {}/{} [{}<{}, {}]", format,
                     total > 0 ? 100.0 * done / total : 100.0, done, total, clock_text(seconds),
                     remaining, rate);
}

void ShardProgress::print() const {
  if (!is_shown_ || !log_enabled(LogLevel::kInfo)) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::fprintf(stderr, "%s\n", line(format_, done_, total_, elapsed.count()).c_str());
}

}  // namespace foretoken
