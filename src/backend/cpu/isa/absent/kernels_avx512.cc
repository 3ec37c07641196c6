// In the place of ../kernels_avx512.cc where that is not compiled (FORETOKEN_ISAS). Never called.
#include "backend/cpu/table/kernels.h"

namespace foretoken {

KernelTable avx512_kernels() { return {}; }

}  // namespace foretoken
