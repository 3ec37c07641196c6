// The kernels of op_kernels.h, written once over V16 and compiled by each instruction set's
// translation unit. Everything here lives in an anonymous namespace.

#include "backend/cpu/op_kernels.h"
#include "backend/cpu/v16.h"

namespace foretoken {
namespace {

inline OpKernels op_kernels() { return {}; }

}  // namespace
}  // namespace foretoken
