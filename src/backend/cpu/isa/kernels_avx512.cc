// The kernel table of the instruction set "avx512".
#define FT_V16_AVX512
#include "backend/cpu/isa/fma_kernels.h"

namespace foretoken {

KernelTable avx512_kernels() { return fma_kernels(); }

}  // namespace foretoken
