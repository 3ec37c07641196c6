#include "backend/backend.h"

#include "backend/cpu/cpu_ops.h"
#include "backend/reference/reference_ops.h"

namespace foretoken {

std::unique_ptr<Ops> make_backend(const BackendConfig& config, ThreadPool& pool) {
  if (config.device == "reference") return make_reference_backend(pool);
  if (config.device == "cpu") {
    const CpuFeatures cpu = detect_cpu();
    return make_cpu_backend(select_isa(config.cpu_isa, cpu),
                            select_gemm_order(config.gemm_order, cpu), pool);
  }
  throw Error({.what = "unknown device",
               .where = "--device",
               .expected = "cpu or reference",
               .found = config.device});
}

}  // namespace foretoken
