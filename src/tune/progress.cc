#include "tune/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace foretoken {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string duration_text(double seconds) {
  const auto all = static_cast<long>(std::clamp(seconds, 0.0, 1e8) + 0.5);
  if (all >= 3600) return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
  return fmt::format("{}:{:02}", all / 60, all % 60);
}

std::string progress_text(const std::string& task, double share, double seconds) {
  constexpr int kWidth = 24;
  share = std::clamp(share, 0.0, 1.0);
  const int done = static_cast<int>(share * kWidth);
  std::string left = "?";
  if (share >= 1)
    left = "done in " + duration_text(seconds);
  else if (share > 0.01)
    left = duration_text(seconds / share - seconds) + " left";
  return fmt::format("{:<24} [{}{}] {:>3.0f}% {}", task,
                     std::string(static_cast<std::size_t>(done), '#'),
                     std::string(static_cast<std::size_t>(kWidth - done), '.'), 100 * share, left);
}

Progress::Progress(std::FILE* file, bool is_terminal, std::string task, Clock clock)
    : file_(file),
      is_terminal_(is_terminal),
      task_(std::move(task)),
      clock_(std::move(clock)),
      begin_(clock_()) {
  show(0);
}

Progress::Progress(std::FILE* file, std::string task)
    : Progress(file, isatty(fileno(file)) == 1, std::move(task), steady_seconds) {}

Progress::~Progress() {
  if (is_terminal_) std::fputc('\n', file_);
  std::fflush(file_);
}

void Progress::show(double share) {
  constexpr double kEvery = 0.1;
  const double seconds = clock_() - begin_;
  const int tenths = static_cast<int>(std::clamp(share, 0.0, 1.0) * 10);
  if (is_terminal_) {
    if (share < 1 && shown_at_ >= 0 && seconds - shown_at_ < kEvery) return;
    std::string text = progress_text(task_, share, seconds);
    const std::size_t width = text.size();
    if (width < width_) text.append(width_ - width, ' ');
    width_ = width;
    std::fprintf(file_, "%s\r", text.c_str());
  } else {
    if (tenths == shown_tenths_ || (share < 1 && tenths % 2 != 0)) return;
    std::fprintf(file_, "%s\n", progress_text(task_, share, seconds).c_str());
  }
  shown_tenths_ = tenths;
  shown_at_ = seconds;
  std::fflush(file_);
}

}  // namespace foretoken
