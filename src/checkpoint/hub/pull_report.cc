#include "checkpoint/hub/pull_report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/byte_text.h"

namespace foretoken {
namespace {

constexpr double kOnTerminal = 0.2, kElsewhere = 10;  // seconds between two lines of one file

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t percent(std::int64_t done, std::int64_t all) {
  return all <= 0 ? 100 : std::clamp<std::int64_t>(done * 100 / all, 0, 100);
}

}  // namespace

PullReport::PullReport()
    : PullReport({.write = [](const std::string& text) { std::fputs(text.c_str(), stderr); },
                  .is_terminal = isatty(STDERR_FILENO) == 1,
                  .now = seconds_now}) {}

void PullReport::on_start(const std::string& model, std::size_t files, std::int64_t bytes) {
  all_bytes_ = bytes;
  all_done_ = 0;
  started_ = output_.now();
  show(fmt::format("Downloading {}: {} in {} file{}.", model, byte_text(bytes), files,
                   files == 1 ? "" : "s"),
       false);
}

void PullReport::on_file(const std::string& path, std::int64_t bytes) {
  path_ = path;
  file_bytes_ = bytes;
  file_done_ = 0;
  shown_ = output_.now();
  if (!output_.is_terminal) show(fmt::format("  {}: {}", path, byte_text(bytes)), false);
}

void PullReport::on_bytes(std::int64_t bytes) {
  file_done_ += bytes;
  all_done_ += bytes;
  const double now = output_.now();
  if (now - shown_ < (output_.is_terminal ? kOnTerminal : kElsewhere)) return;
  shown_ = now;
  show(state(), true);
}

void PullReport::on_check(const std::string& path) {
  show("  " + path + ": checking its sum", true);
}

void PullReport::on_done(const std::string& path) {
  // What another process has downloaded counts as done.
  all_done_ += file_bytes_ - file_done_;
  file_done_ = file_bytes_;
  if (output_.is_terminal) show(fmt::format("  {}: {}", path, byte_text(file_bytes_)), false);
}

void PullReport::on_wait(const std::string& why) { show("  " + why, false); }

std::string PullReport::state() const {
  const double seconds = output_.now() - started_;
  const double rate = seconds > 0 ? static_cast<double>(all_done_) / seconds : 0;
  std::string text = fmt::format("  {}: {} of {} ({} %), all {} %", path_, byte_text(file_done_),
                                 byte_text(file_bytes_), percent(file_done_, file_bytes_),
                                 percent(all_done_, all_bytes_));
  if (rate > 0)
    text +=
        fmt::format(", {}/s, {:.0f} s left", byte_text(static_cast<std::int64_t>(rate)),
                    static_cast<double>(std::max<std::int64_t>(0, all_bytes_ - all_done_)) / rate);
  return text;
}

void PullReport::show(const std::string& text, bool is_passing) {
  if (!output_.is_terminal) return output_.write(text + "\n");
  // Back to the begin of the line, and away with what stood there.
  output_.write((has_passing_line_ ? "\r\x1b[K" : "") + text + (is_passing ? "" : "\n"));
  has_passing_line_ = is_passing;
}

}  // namespace foretoken
