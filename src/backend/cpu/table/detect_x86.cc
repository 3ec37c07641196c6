// What an x86-64 processor and its system offer.
#include <cstdint>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/cpu/table/isa.h"

namespace foretoken {
namespace {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// Register sets that the system saves on a context switch (XCR0).
std::uint64_t enabled_state() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

constexpr bool bit(std::uint64_t word, int n) { return ((word >> n) & 1U) != 0; }

// Tile registers are off until a process asks for them.
bool request_amx() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

CpuFeatures detect_cpu() {
  CpuFeatures cpu;
  const Leaf one = cpuid(1, 0);
  if (!bit(one.ecx, 27)) return cpu;  // OSXSAVE: XGETBV exists
  const std::uint64_t state = enabled_state();
  const Leaf seven = cpuid(7, 0), more = cpuid(7, 1);

  const bool ymm = (state & 0x6U) == 0x6U, zmm = (state & 0xe6U) == 0xe6U;
  cpu.avx2 = ymm && bit(one.ecx, 28) && bit(one.ecx, 12) && bit(one.ecx, 29) && bit(seven.ebx, 5);
  cpu.avx512 = cpu.avx2 && zmm && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) &&
               bit(seven.ebx, 31);
  cpu.avx512_bf16 = cpu.avx512 && bit(more.eax, 5);
  cpu.avx_vnni = cpu.avx2 && bit(more.eax, 4);
  cpu.avx512_vnni = cpu.avx512 && bit(seven.ecx, 11);
  const bool tiles = (state & 0x60000U) == 0x60000U && bit(seven.edx, 22) && bit(seven.edx, 24);
  const bool vbmi = bit(seven.ecx, 1);  // its kernels look bytes up
  cpu.amx = cpu.avx512_bf16 && vbmi && tiles && request_amx();
  return cpu;
}

}  // namespace foretoken
