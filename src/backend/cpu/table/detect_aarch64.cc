// What an aarch64 processor and its system offer.
#include "backend/cpu/table/isa.h"

#if defined(__APPLE__)
#include <cstddef>

#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#endif

namespace foretoken {
namespace {

#if defined(__APPLE__)

bool has(const char* name) {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool has_dotprod() { return has("hw.optional.arm.FEAT_DotProd"); }
bool has_i8mm() { return has("hw.optional.arm.FEAT_I8MM"); }

#else

// Linux's numbers (asm/hwcap.h), which older headers lack.
constexpr unsigned long kDotProd = 1UL << 20U;  // of AT_HWCAP
constexpr unsigned long kI8mm = 1UL << 13U;     // of AT_HWCAP2

bool has_dotprod() { return (getauxval(AT_HWCAP) & kDotProd) != 0; }
bool has_i8mm() { return (getauxval(AT_HWCAP2) & kI8mm) != 0; }

#endif

}  // namespace

CpuFeatures detect_cpu() {
  CpuFeatures cpu;
  cpu.neon = true;
  cpu.dotprod = has_dotprod();
  cpu.i8mm = cpu.dotprod && has_i8mm();
  return cpu;
}

}  // namespace foretoken
