#pragma once
// select_kernels: the kernel table of one instruction set, made once at start. A dot-product
// instruction is adopted only if it reproduces the order of addition that it stands for
// (kernel_check.h). It decides nothing per product: see Gemm.

#include "backend/cpu/table/isa.h"
#include "backend/cpu/table/kernels.h"

namespace foretoken {

// isa: one that this machine has (select_isa).
KernelTable select_kernels(Isa isa);

}  // namespace foretoken
