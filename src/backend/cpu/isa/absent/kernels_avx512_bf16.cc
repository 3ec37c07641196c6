// In the place of ../kernels_avx512_bf16.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

GemmKernels avx512_bf16_pair_gemm() { return {}; }
void avx512_bf16_attention(const AttnItem&) {}

}  // namespace foretoken
