// The kernel table of the instruction set "scalar".
#define FT_V16_SCALAR
#include "backend/cpu/isa/fma_kernels.h"

namespace foretoken {

KernelTable scalar_kernels() { return fma_kernels(); }

}  // namespace foretoken
