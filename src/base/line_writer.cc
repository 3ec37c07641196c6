#include "base/line_writer.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace foretoken {

void LineWriter::write(std::string_view line) {
  if (is_torn_) is_torn_ = !put("\n");
  if (!is_torn_ && dropped_ > 0 &&
      put(fmt::format("({} lines of the log could not be written)\n", dropped_)))
    dropped_ = 0;
  if (is_torn_ || dropped_ > 0 || !put(line)) ++dropped_;
}

// All of it; false, and perhaps a part, when it cannot be written now.
bool LineWriter::put(std::string_view text) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (bool is_first = true; !text.empty(); is_first = false) {
    // A pipe with room for anything has room for PIPE_BUF bytes, so this write cannot block.
    ssize_t written = -1;
    if (wait_for_room(until))
      written = ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      is_torn_ = is_torn_ || !is_first;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool LineWriter::wait_for_room(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  const auto patience = is_stuck_ ? 0 : std::max<std::int64_t>(0, left.count());
  pollfd room{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  const int found = poll(&room, 1, static_cast<int>(patience));
  is_stuck_ = found == 0;
  if (found == 0) errno = EAGAIN;
  return found > 0;
}

}  // namespace foretoken
