#pragma once
// Which instruction sets this machine offers and which one, with which order of addition, the CPU
// backend uses. Decided once at start; nothing here is asked in a hot path. Not the kernels: see
// kernels.h. Pure functions except detect_cpu(), which asks the processor and the system.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// Ascending: kNeon is of aarch64; those behind it are of x86-64, and each includes those before it.
enum class Isa : std::uint8_t { kScalar, kNeon, kAvx2, kAvx512, kAvx512Bf16, kAmx };
inline constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kNeon,       Isa::kAvx2,
                                   Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};
// Whether processors of the family that this program is compiled for may have it.
constexpr bool is_of_family(Isa isa) {
#if defined(__aarch64__)
  return isa <= Isa::kNeon;
#else
  return isa != Isa::kNeon;
#endif
}

// The order in which a bf16 GEMM adds its products; results are a function of it, not of the Isa.
//   kTile  K in blocks of 32: (FMA chain over even k) + (FMA chain over odd k), both from 0, added
//          to the accumulator: what TDPBF16PS computes.
//   kPair  one FMA chain per output, in each pair k odd before k even: what VDPBF16PS computes.
enum class GemmOrder : std::uint8_t { kTile, kPair };

// "scalar", "neon", "avx2", "avx512", "avx512_bf16", "amx"
std::string_view isa_name(Isa isa);
std::string_view gemm_order_name(GemmOrder order);  // "tile", "pair"

// What processor and operating system allow together.
struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA and F16C: the least that foretoken runs on
  bool avx512 = false;       // AVX-512 F, BW, DQ, VL
  bool avx512_bf16 = false;  // and VDPBF16PS
  bool amx = false;          // all of that, VBMI and AMX-BF16, its use granted by the kernel
  bool avx_vnni = false;     // avx2 and VPDPBUSD of 32 bytes: faster, but no set of its own
  bool avx512_vnni = false;  // avx512 and VPDPBUSD of 64 bytes: the same
  bool neon = false;         // what every aarch64 processor has
  bool dotprod = false;      // neon and SDOT: faster, but no set of its own
  bool i8mm = false;         // dotprod and USDOT: the same
};

// Asks CPUID, XGETBV and, for AMX, the kernel's permission for this process; on aarch64 the system.
CpuFeatures detect_cpu();

bool has_isa(const CpuFeatures& cpu, Isa isa);

// The tables that this program was built with (FORETOKEN_ISAS), by the names of cpu/isa/kernels_*.cc:
// those of isa_name, and what is taken beside them. The build writes it.
std::vector<std::string_view> compiled_tables();
bool is_compiled(std::string_view table, const std::vector<std::string_view>& compiled);

// The ISA of --cpu-isa: "auto" is the best one. Throws Error when the name is unknown, when the
// machine or the program lacks it, and when an x86-64 machine lacks AVX2 with FMA.
Isa select_isa(const std::string& name, const CpuFeatures& cpu,
               const std::vector<std::string_view>& compiled = compiled_tables());

// The order of --gemm-order. "auto" follows the machine, not --cpu-isa: tile order where AMX
// computes it or where AVX512_BF16 is missing, pair order where VDPBF16PS is the fastest
// instruction.
GemmOrder select_gemm_order(const std::string& name, const CpuFeatures& cpu);

}  // namespace foretoken
