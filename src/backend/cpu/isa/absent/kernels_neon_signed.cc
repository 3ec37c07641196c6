// In the place of ../kernels_neon_signed.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

GemmKernels neon_signed_codes_gemm() { return {}; }

}  // namespace foretoken
