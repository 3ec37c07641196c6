#pragma once
// For tests: the scalar kernel table with the AMX kernels running on tile registers in software and
// pair products on the input of VDPBF16PS.

#include "backend/cpu/table/kernels.h"

namespace foretoken {

KernelTable amx_model_kernels();

}  // namespace foretoken
