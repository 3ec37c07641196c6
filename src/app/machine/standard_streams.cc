#include "app/machine/standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace foretoken {

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR);  // the lowest number that is free, which is this one
}

// Of a write that failed earlier the stream knows nothing but that.
std::string output_fault() {
  errno = 0;
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written) return {};
  return errno == 0 ? "a write failed" : std::strerror(errno);
}

}  // namespace foretoken
