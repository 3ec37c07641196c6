#include "app/machine/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include <sys/resource.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#endif

#include "base/error.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

std::optional<std::size_t> read_bytes(const fs::path& file) {
  std::ifstream in(file);
  std::size_t bytes = 0;
  if (in >> bytes) return bytes;
  return std::nullopt;  // no such file, or "max"
}

// The value of a "Name:   123 kB" or "name 123" line.
std::size_t field(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string word;
  std::size_t value = 0;
  while (in >> word)
    if (word == name && in >> value) return value;
  return 0;
}

// This process's folder in a cgroup hierarchy: "0::/path" (version 2) or "n:memory:/path" (1).
std::string cgroup_path(const std::string& root, bool version2) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? controllers.empty() : controllers.find("memory") != std::string::npos)
      return line.substr(second + 1);
  }
  return "/";
}

// Narrows `memory` to the limit of one cgroup, if it has one. Pages of files can be given up, so
// they do not count as used.
void narrow(MachineMemory& memory, const fs::path& folder, bool version2) {
  const auto limit = read_bytes(folder / (version2 ? "memory.max" : "memory.limit_in_bytes"));
  if (!limit || *limit >= memory.total_bytes) return;
  const auto used = read_bytes(folder / (version2 ? "memory.current" : "memory.usage_in_bytes"));
  const std::size_t files =
      field(folder / "memory.stat", version2 ? "inactive_file" : "total_inactive_file");
  const std::size_t held = std::max(used.value_or(0), files) - files;
  memory.total_bytes = *limit;
  memory.available_bytes = std::min(memory.available_bytes, *limit - std::min(*limit, held));
}

#if defined(__APPLE__)

MachineMemory memory_of_system() {
  std::uint64_t bytes = 0;
  std::size_t size = sizeof bytes;
  if (sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) != 0) return {};
  return {bytes, bytes / 4 * 3};  // it does not say what is left
}
fs::path path_of_program() {
  char path[4096];
  std::uint32_t size = sizeof path;
  std::error_code fault;
  return _NSGetExecutablePath(path, &size) == 0 ? fs::canonical(path, fault) : fs::path{};
}

#else

fs::path path_of_program() {
  std::error_code fault;
  return fs::read_symlink("/proc/self/exe", fault);
}

#endif

}  // namespace

std::string processor_name(const std::string& root) {
#if defined(__APPLE__)
  char name[128] = {};
  std::size_t size = sizeof name - 1;
  if (root.empty() && sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0)
    return name;
#endif
  std::ifstream in(root + "/proc/cpuinfo");
  std::string numbers;  // what aarch64 has instead
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) return line.substr(colon + 2);
    for (const std::string key : {"CPU implementer", "CPU variant", "CPU part"})
      if (line.starts_with(key) && numbers.find(key) == std::string::npos)
        numbers += (numbers.empty() ? "" : ", ") + key + " " + line.substr(colon + 2);
  }
  return numbers.empty() ? "unknown processor" : numbers;
}

MachineMemory read_memory(const std::string& root) {
#if defined(__APPLE__)
  if (root.empty()) return memory_of_system();
#endif
  const fs::path info = root + "/proc/meminfo";
  MachineMemory memory{field(info, "MemTotal:") * 1024, field(info, "MemAvailable:") * 1024};
  for (const bool version2 : {true, false}) {
    const fs::path mount = root + (version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    // A limit may stand at any level above; inside a container the path may not be visible at all.
    fs::path below = cgroup_path(root, version2);
    for (; below.has_relative_path(); below = below.parent_path())
      narrow(memory, mount / below.relative_path(), version2);
    narrow(memory, mount, version2);
  }
  return memory;
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit wanted{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) limit = wanted;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::string demo_model_folder() {
  std::error_code fault;
  const fs::path folder = path_of_program().parent_path();
  // In the tree; installed; in a Python environment, from below its site-packages.
  for (const auto* relative : {"../../models/demo", "../share/foretoken/models/demo",
                               "../../../../share/foretoken/models/demo"}) {
    const fs::path candidate = (folder / relative).lexically_normal();
    if (fs::exists(candidate / "config.json", fault)) return candidate.string();
  }
  throw Error({.what = "no demo model beside the program",
               .where = folder.string(),
               .expected = "../../models/demo, or a checkpoint named by --model",
               .found = "neither"});
}

}  // namespace foretoken
