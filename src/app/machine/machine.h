#pragma once
// What the program must know of the machine it runs on: its memory, within the limits of a
// container, its limit of file descriptors, and where its own executable lies.

#include <cstddef>
#include <string>

namespace foretoken {

struct MachineMemory {
  std::size_t total_bytes = 0;      // RAM, or the container's limit where that is less
  std::size_t available_bytes = 0;  // of it, not in use by anybody
};

// root: "" for this machine; tests pass a folder with made-up proc and sys files.
MachineMemory read_memory(const std::string& root = {});

// "Intel(R) Xeon(R) ..." as the system calls it; "unknown processor" where it does not say.
std::string processor_name(const std::string& root = {});

// As many as this process may have without asking anybody; the limit from now on.
std::size_t raise_descriptor_limit();

// The folder of the demo model: beside the build folder of the running executable, or where an
// installation puts it. Throws Error when there is none.
std::string demo_model_folder();

}  // namespace foretoken
