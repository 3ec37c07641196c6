// The tables of aarch64.
#include "backend/cpu/select/adoption.h"
#include "backend/cpu/select/select_kernels.h"

namespace foretoken {

KernelTable select_kernels(Isa isa) {
  if (isa == Isa::kScalar) return scalar_kernels();
  const CpuFeatures cpu = detect_cpu();
  const std::vector<std::string_view> compiled = compiled_tables();
  Adoption adopt(neon_kernels());
  if (cpu.i8mm && is_compiled("neon_mixed", compiled))
    adopt.codes(neon_mixed_codes_gemm(), "USDOT");
  else if (cpu.dotprod && is_compiled("neon_signed", compiled))
    adopt.codes(neon_signed_codes_gemm(), "SDOT");
  return adopt.table();
}

}  // namespace foretoken
