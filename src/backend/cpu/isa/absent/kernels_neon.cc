// In the place of ../kernels_neon.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

KernelTable neon_kernels() { return {}; }

}  // namespace foretoken
