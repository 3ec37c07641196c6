#pragma once
// What the system lets this process use: physical cores and CPU quota. Reads /sys and /proc at
// start-up; a file that is missing or unreadable means "no limit". No state.

#include <optional>
#include <string>
#include <vector>

#include <sched.h>

namespace foretoken {

// The logical processors of each physical core that the process may run on. Threads of one core
// share an entry. Never empty.
std::vector<cpu_set_t> usable_core_sets();

// Processors' worth of time that the cgroups of this process (version 2 or 1, own group and its
// ancestors) allow, empty when unlimited. `root` is prefixed to every path read, for tests.
std::optional<double> cgroup_cpu_limit(const std::string& root = "");

}  // namespace foretoken
