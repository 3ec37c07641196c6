#include "base/cpu_time.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <pthread.h>
#include <unistd.h>

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct ThreadTime {
  std::string name;
  double seconds = 0;
};

// "TID (NAME) STATE ...": the name may hold spaces and parentheses, so the last one closes it. User
// and system time in clock ticks are the 12th and 13th field after it.
ThreadTime read_thread(const fs::path& task) {
  std::ifstream file(task / "stat");
  std::string line;
  std::getline(file, line);
  const auto open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  ThreadTime thread{.name = line.substr(open + 1, close - open - 1)};
  std::istringstream rest(line.substr(close + 1));
  std::string skipped;
  for (int field = 0; field < 11; ++field) rest >> skipped;
  double user = 0, system = 0;
  if (rest >> user >> system)
    thread.seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return thread;
}

}  // namespace

void name_thread(const char* name) {
#if defined(__APPLE__)
  (void)pthread_setname_np(name);
#else
  (void)pthread_setname_np(pthread_self(), name);
#endif
}

CpuSeconds cpu_seconds(std::span<const std::string_view> names) {
  CpuSeconds out;
  std::error_code fault;
  for (fs::directory_iterator task("/proc/self/task", fault), end; !fault && task != end;
       task.increment(fault)) {
    const ThreadTime thread = read_thread(task->path());
    const bool is_named = std::ranges::any_of(
        names, [&](std::string_view name) { return thread.name.starts_with(name); });
    (is_named ? out.named : out.others) += thread.seconds;
  }
  return out;
}

}  // namespace foretoken
