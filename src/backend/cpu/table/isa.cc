#include "backend/cpu/table/isa.h"

#include <array>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::array kIsas = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

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

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      break;
  }
  return "amx";
}

std::string_view gemm_order_name(GemmOrder order) {
  return order == GemmOrder::kTile ? "tile" : "pair";
}

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

bool has_isa(const CpuFeatures& cpu, Isa isa) {
  switch (isa) {
    case Isa::kScalar:
    case Isa::kAvx2:
      return cpu.avx2;
    case Isa::kAvx512:
      return cpu.avx512;
    case Isa::kAvx512Bf16:
      return cpu.avx512_bf16;
    case Isa::kAmx:
      break;
  }
  return cpu.amx;
}

std::string isa_list(const CpuFeatures& cpu) {
  std::string list;
  for (const Isa isa : kIsas)
    if (has_isa(cpu, isa)) list += (list.empty() ? "" : ", ") + std::string(isa_name(isa));
  return list.empty() ? "none of them" : list;
}

Isa select_isa(const std::string& name, const CpuFeatures& cpu) {
  if (!cpu.avx2)
    throw Error({.what = "this processor is not supported",
                 .where = "",
                 .expected = "an x86-64 processor with AVX2, FMA and F16C",
                 .found = "one without"});
  Isa best = Isa::kScalar;
  for (const Isa isa : kIsas) {
    if (!has_isa(cpu, isa)) continue;
    if (name == isa_name(isa)) return isa;
    best = isa;
  }
  if (name == "auto") return best;
  for (const Isa isa : kIsas)
    if (name == isa_name(isa))
      throw Error({.what = "this machine lacks the instruction set " + name,
                   .where = "--cpu-isa",
                   .expected = "auto or one of " + isa_list(cpu),
                   .found = name});
  throw Error({.what = "unknown instruction set",
               .where = "--cpu-isa",
               .expected = "auto, scalar, avx2, avx512, avx512_bf16 or amx",
               .found = name});
}

GemmOrder select_gemm_order(const std::string& name, const CpuFeatures& cpu) {
  if (name == "tile") return GemmOrder::kTile;
  if (name == "pair") return GemmOrder::kPair;
  if (name != "auto")
    throw Error({.what = "unknown order of addition",
                 .where = "--gemm-order",
                 .expected = "auto, tile or pair",
                 .found = name});
  return cpu.amx || !cpu.avx512_bf16 ? GemmOrder::kTile : GemmOrder::kPair;
}

}  // namespace foretoken
