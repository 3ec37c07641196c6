// What DotProd adds to the table of "neon": products of codes by SDOT.
#define FT_V16_NEON
#define FT_DOT_SIGNED
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"

namespace foretoken {

GemmKernels neon_signed_codes_gemm() { return code_gemm(); }

}  // namespace foretoken
