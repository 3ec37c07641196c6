// In the place of ../kernels_scalar.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

KernelTable scalar_kernels() { return {}; }

}  // namespace foretoken
