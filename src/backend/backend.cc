#include "backend/backend.h"

#include "backend/cpu/cpu_ops.h"
#include "backend/device_choice.h"
#include "backend/reference/reference_ops.h"
#include "backend/vulkan/api.h"
#include "backend/vulkan/vulkan_ops.h"

namespace foretoken {

std::vector<std::string> cpu_isas() {
  const CpuFeatures cpu = detect_cpu();
  const std::vector<std::string_view> compiled = compiled_tables();
  std::vector<std::string> names;
  for (const Isa isa : kAllIsas)
    if (has_isa(cpu, isa) && is_compiled(isa_name(isa), compiled))
      names.emplace_back(isa_name(isa));
  return names;
}

std::vector<DeviceFacts> gpu_devices(std::string& reason) { return list_vulkan_devices(reason); }

std::unique_ptr<Ops> make_backend(const BackendConfig& config, ThreadPool& pool) {
  if (config.device == "reference") return make_reference_backend(pool);
  if (config.device == "cpu") {
    const CpuFeatures cpu = detect_cpu();
    return make_cpu_backend(select_isa(config.cpu_isa, cpu),
                            select_gemm_order(config.gemm_order, cpu), pool);
  }
  if (means_vulkan(config.device))
    return make_vulkan_backend(
        {.device = config.device, .cache_folder = config.cache_folder}, config.gemm_order,
        make_cpu_backend(select_isa(config.cpu_isa, detect_cpu()), GemmOrder::kTile, pool), pool);
  throw Error({.what = "unknown device",
               .where = "--device",
               .expected = "cpu, vulkan, vulkan:N, vulkan:NAME or reference",
               .found = config.device});
}

}  // namespace foretoken
