// The kernel table of the instruction set "neon".
#define FT_V16_NEON
#include "backend/cpu/isa/fma_kernels.h"

namespace foretoken {

KernelTable neon_kernels() { return fma_kernels(); }

}  // namespace foretoken
