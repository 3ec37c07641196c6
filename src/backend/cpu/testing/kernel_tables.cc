#include "backend/cpu/testing/kernel_tables.h"

#include "backend/cpu/select/select_kernels.h"
#include "backend/cpu/table/isa.h"
#include "backend/cpu/testing/amx_model.h"

namespace foretoken {
namespace {

template <KernelTable (*Make)(), GemmKernels (*Codes)()>
KernelTable with_codes() {
  KernelTable table = Make();
  table.codes = table.codes_row8 = Codes();
  return table;
}
template <Isa isa>
KernelTable selected() {
  return select_kernels(isa);
}

}  // namespace

std::vector<NamedTable> kernel_tables() {
  const CpuFeatures cpu = detect_cpu();
  return {{"scalar", true, scalar_kernels},
#if defined(__aarch64__)
          {"neon", cpu.neon, neon_kernels},
          {"neon_signed", cpu.dotprod, with_codes<neon_kernels, neon_signed_codes_gemm>},
          {"neon_mixed", cpu.i8mm, with_codes<neon_kernels, neon_mixed_codes_gemm>},
#else
          {"avx2", cpu.avx2, avx2_kernels},
          {"avx512", cpu.avx512, avx512_kernels},
          {"avx_vnni", cpu.avx_vnni, with_codes<avx2_kernels, avx_vnni_codes_gemm>},
          {"avx512_vnni", cpu.avx512_vnni, with_codes<avx512_kernels, avx512_vnni_codes_gemm>},
          {"avx512_bf16", cpu.avx512_bf16, selected<Isa::kAvx512Bf16>},
          {"amx", cpu.amx, selected<Isa::kAmx>},
#endif
          {"amx_model", true, amx_model_kernels}};
}

}  // namespace foretoken
