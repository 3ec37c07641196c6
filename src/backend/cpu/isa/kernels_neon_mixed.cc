// What I8MM adds to the table of "neon": products of codes by USDOT.
#define FT_V16_NEON
#define FT_DOT_MIXED
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"

namespace foretoken {

GemmKernels neon_mixed_codes_gemm() { return code_gemm(); }

}  // namespace foretoken
