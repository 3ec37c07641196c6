#pragma once
// Entries of the kernel table besides GEMM: attention, norms, rotation, activation.
// Plain structs and function pointers only, for the reason given in kernels.h.

#include <cstdint>

namespace foretoken {

struct OpKernels {};

}  // namespace foretoken
