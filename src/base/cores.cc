#include "base/cores.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#if defined(__linux__)
#include <pthread.h>
#include <sys/resource.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace foretoken {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The smaller of a limit so far and quota / period, where a quota that is not positive is none.
void lower(std::optional<double>& limit, double quota, double period) {
  if (quota <= 0 || period <= 0) return;
  limit = limit ? std::min(*limit, quota / period) : quota / period;
}

// cpu.max: "max 100000" or "150000 100000".
void lower_v2(std::optional<double>& limit, const std::string& folder) {
  std::istringstream text(first_line(folder + "/cpu.max"));
  double quota = 0, period = 0;
  if (text >> quota >> period) lower(limit, quota, period);
}

// -1 when unlimited.
void lower_v1(std::optional<double>& limit, const std::string& folder) {
  std::istringstream quota_text(first_line(folder + "/cpu.cfs_quota_us"));
  std::istringstream period_text(first_line(folder + "/cpu.cfs_period_us"));
  double quota = 0, period = 0;
  if (quota_text >> quota && period_text >> period) lower(limit, quota, period);
}

bool has_controller(const std::string& controllers, const std::string& name) {
  std::istringstream text(controllers);
  for (std::string one; std::getline(text, one, ',');)
    if (one == name) return true;
  return false;
}

// Calls visit(mount + group) for the group, its ancestors and the mount itself. Inside a container
// the group's path may be one of the host's that does not exist here; then only the mount does.
template <class Visit>
void for_ancestors(const std::string& mount, std::string group, Visit visit) {
  while (!group.empty() && group != "/") {
    visit(mount + group);
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  visit(mount);
}

}  // namespace

#if defined(__linux__)

std::vector<CoreSet> usable_core_sets() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) CPU_SET(0, &mask);
  std::map<std::string, cpu_set_t> cores;  // siblings -> those of them in the mask
  std::vector<std::string> order;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string name = std::to_string(cpu);
    std::string siblings =
        first_line("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
    if (siblings.empty()) siblings = name;
    const auto [core, is_new] = cores.try_emplace(siblings);
    if (is_new) {
      CPU_ZERO(&core->second);
      order.push_back(siblings);
    }
    CPU_SET(cpu, &core->second);
  }
  std::vector<cpu_set_t> sets;
  for (const std::string& siblings : order) sets.push_back(cores[siblings]);
  return sets;
}

CoreSet joined(const std::vector<CoreSet>& sets) {
  CoreSet all;
  CPU_ZERO(&all);
  for (const CoreSet& set : sets) CPU_OR(&all, &all, &set);
  return all;
}

void bind_thread(const CoreSet& set) {
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

long interruptions_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

#else

// The fast ones, where there are slow ones, too: workers wait for each other.
std::vector<CoreSet> usable_core_sets() {
  int count = 0;
#if defined(__APPLE__)
  for (const char* name : {"hw.perflevel0.physicalcpu", "hw.physicalcpu"}) {
    std::size_t size = sizeof count;
    if (sysctlbyname(name, &count, &size, nullptr, 0) == 0 && count > 0) break;
    count = 0;
  }
#endif
  return std::vector<CoreSet>(static_cast<std::size_t>(std::max(count, 1)));
}

CoreSet joined(const std::vector<CoreSet>&) { return {}; }
void bind_thread(const CoreSet&) {}
long interruptions_of_thread() { return 0; }

#endif

std::optional<double> cgroup_cpu_limit(const std::string& root) {
  std::optional<double> limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/group" or "4:cpu,cpuacct:/group"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        for_ancestors(root + mount, group, [&](const std::string& f) { lower_v2(limit, f); });
    } else if (has_controller(controllers, "cpu")) {
      for (const std::string& mount :
           {"/sys/fs/cgroup/" + controllers, std::string("/sys/fs/cgroup/cpu")})
        for_ancestors(root + mount, group, [&](const std::string& f) { lower_v1(limit, f); });
    }
  }
  return limit;
}

}  // namespace foretoken
