// The kernel table of the instruction set "avx2".
#define FT_V16_AVX2
#include "backend/cpu/isa/fma_kernels.h"

namespace foretoken {

KernelTable avx2_kernels() { return fma_kernels(); }

}  // namespace foretoken
