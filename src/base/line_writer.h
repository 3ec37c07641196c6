#pragma once
// LineWriter: lines to a descriptor that may be closed, full or stuck (a pipe that nobody reads, a
// full disk). A line that cannot be written is dropped and counted; once lines pass again, one says
// how many were lost. A write waits kPatience at most, and not at all while the descriptor is known
// to be stuck. Nothing throws and nothing ends the process, provided that SIGPIPE is ignored.
// Not thread-safe.

#include <chrono>
#include <cstdint>
#include <string_view>

namespace foretoken {

class LineWriter {
 public:
  static constexpr std::chrono::milliseconds kPatience{100};

  explicit LineWriter(int descriptor) : descriptor_(descriptor) {}

  void write(std::string_view line);  // with its line break
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool put(std::string_view text);
  bool wait_for_room(std::chrono::steady_clock::time_point until);

  const int descriptor_;
  std::uint64_t dropped_ = 0;  // lines, since the last one that was written
  bool is_stuck_ = false;      // nobody read when last asked
  bool is_torn_ = false;       // the last line was written in part
};

}  // namespace foretoken
