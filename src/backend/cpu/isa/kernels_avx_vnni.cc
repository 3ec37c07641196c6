// What AVX-VNNI adds to the table of "avx2": products of codes by VPDPBUSD.
#define FT_V16_AVX2
#define FT_DOT_VNNI
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"

namespace foretoken {

GemmKernels avx_vnni_codes_gemm() { return code_gemm(); }

}  // namespace foretoken
