#pragma once
// What the system lets this process use: physical cores and CPU quota. Reads /sys and /proc at
// start-up; a file that is missing or unreadable means "no limit". No state. Where a thread runs is
// chosen on Linux only.

#include <optional>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace foretoken {

#if defined(__linux__)
using CoreSet = cpu_set_t;  // of logical processors
#else
struct CoreSet {};
#endif

// The logical processors of each physical core that the process may run on. Threads of one core
// share an entry. Never empty.
std::vector<CoreSet> usable_core_sets();

// The processors of all of them.
CoreSet joined(const std::vector<CoreSet>& sets);

// Lets the calling thread run on these processors only; refused inside some sandboxes.
void bind_thread(const CoreSet& set);

// How often others have interrupted the calling thread so far.
long interruptions_of_thread();

// Processors' worth of time that the cgroups of this process (version 2 or 1, own group and its
// ancestors) allow, empty when unlimited. `root` is prefixed to every path read, for tests.
std::optional<double> cgroup_cpu_limit(const std::string& root = "");

}  // namespace foretoken
