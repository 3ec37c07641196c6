// The tables of aarch64.
#include "backend/cpu/select/adoption.h"
#include "backend/cpu/select/select_kernels.h"

namespace foretoken {

KernelTable select_kernels(Isa isa) {
  if (isa == Isa::kScalar) return scalar_kernels();
  const CpuFeatures cpu = detect_cpu();
  Adoption adopt(neon_kernels());
  if (cpu.i8mm)
    adopt.codes(neon_mixed_codes_gemm(), "USDOT");
  else if (cpu.dotprod)
    adopt.codes(neon_signed_codes_gemm(), "SDOT");
  return adopt.table();
}

}  // namespace foretoken
