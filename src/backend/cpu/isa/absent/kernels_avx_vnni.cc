// In the place of ../kernels_avx_vnni.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

GemmKernels avx_vnni_codes_gemm() { return {}; }

}  // namespace foretoken
