#pragma once
// Progress: how far a long task is and how long it will take still: a bar that is drawn over itself
// on a terminal, a line now and then otherwise. The terminal is left at the beginning of the bar's
// line, so that what others write (the log) stands on a line of its own and the bar below it. One
// thread at a time.

#include <cstdio>
#include <functional>
#include <string>

namespace foretoken {

// "0:07", "1:02:03".
std::string duration_text(double seconds);
// One state of the bar. share: 0 to 1; seconds: that have passed.
std::string progress_text(const std::string& task, double share, double seconds);

class Progress {
 public:
  using Clock = std::function<double()>;
  // The file outlives it.
  Progress(std::FILE* file, bool is_terminal, std::string task, Clock clock);
  Progress(std::FILE* file, std::string task);  // as the file is, by the steady clock
  ~Progress();                                  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(double share);

 private:
  std::FILE* file_;
  const bool is_terminal_;
  const std::string task_;
  const Clock clock_;
  const double begin_;
  double shown_at_ = -1;  // seconds since the beginning
  int shown_tenths_ = -1;
  std::size_t width_ = 0;  // of what stands in the line
};

}  // namespace foretoken
