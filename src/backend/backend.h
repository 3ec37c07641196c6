#pragma once
// The factory of backends: the only place outside backend/{reference,cpu,vulkan} that knows which exist.

#include <memory>
#include <string>
#include <vector>

#include "backend/device_choice.h"
#include "backend/ops.h"
#include "base/threads.h"

namespace foretoken {

struct BackendConfig {
  std::string device = "cpu";       // cpu | reference | vulkan | vulkan:N | vulkan:NAME
  std::string cpu_isa = "auto";     // auto | amx | avx512_bf16 | avx512 | avx2 | scalar
  std::string gemm_order = "auto";  // auto | tile | pair | mma
  std::string cache_folder = {};    // for what a device has compiled; empty: nothing is kept
};

// Instruction sets that both this machine and this program have, by the names of
// BackendConfig::cpu_isa, ascending.
std::vector<std::string> cpu_isas();

// What --device vulkan can take, by number; `reason` says why where that is nothing.
std::vector<DeviceFacts> gpu_devices(std::string& reason);

// Throws Error when the machine lacks what is asked for.
std::unique_ptr<Ops> make_backend(const BackendConfig& config, ThreadPool& pool);

}  // namespace foretoken
