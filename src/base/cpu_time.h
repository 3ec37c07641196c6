#pragma once
// Processor time of this process by thread, for those who watch it. Threads carry names, which
// `top -H` shows too. Reads /proc; where it cannot, times are 0. Safe from any thread.
// Times only grow while no thread ends.

#include <span>
#include <string_view>

namespace foretoken {

// Of the calling thread; at most 15 characters.
void name_thread(const char* name);

struct CpuSeconds {
  double named = 0;   // of the threads that were asked for
  double others = 0;  // of all others
};

// Splits the time of all living threads by whether their name begins with one of `names`.
CpuSeconds cpu_seconds(std::span<const std::string_view> names);

}  // namespace foretoken
