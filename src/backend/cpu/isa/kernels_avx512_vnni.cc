// What AVX512_VNNI adds to the table of "avx512": products of codes by VPDPBUSD.
#define FT_V16_AVX512
#define FT_DOT_VNNI
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"

namespace foretoken {

GemmKernels avx512_vnni_codes_gemm() { return code_gemm(); }

}  // namespace foretoken
