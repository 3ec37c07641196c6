// In the place of ../kernels_amx.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

GemmKernels amx_tile_gemm() { return {}; }
void amx_attention(const AttnItem&) {}
GemmKernels amx_codes_gemm() { return {}; }
GemmKernels amx_groups_gemm() { return {}; }
GemmKernels amx_lookup_gemm() { return {}; }
GemmKernels amx_bytes_gemm() { return {}; }
GemmKernels amx_e4m3_gemm() { return {}; }

}  // namespace foretoken
