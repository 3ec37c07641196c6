#include "backend/cpu/table/isa.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace foretoken {
namespace {

// "scalar, avx2, avx512": those that fits(isa).
template <typename Fits>
std::string list_of_isas(const Fits& fits) {
  std::string list;
  for (const Isa isa : kAllIsas)
    if (fits(isa)) list += (list.empty() ? "" : ", ") + std::string(isa_name(isa));
  return list.empty() ? "none of them" : list;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kNeon:
      return "neon";
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

bool has_isa(const CpuFeatures& cpu, Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return cpu.avx2 || cpu.neon;
    case Isa::kNeon:
      return cpu.neon;
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

bool is_compiled(std::string_view table, const std::vector<std::string_view>& compiled) {
  return std::ranges::find(compiled, table) != compiled.end();
}

Isa select_isa(const std::string& name, const CpuFeatures& cpu,
               const std::vector<std::string_view>& compiled) {
  if (!has_isa(cpu, Isa::kScalar))
    throw Error({.what = "this processor is not supported",
                 .where = "",
                 .expected = "an x86-64 processor with AVX2, FMA and F16C, or one of aarch64",
                 .found = "one without"});
  const auto is_usable = [&](Isa isa) {
    return has_isa(cpu, isa) && is_compiled(isa_name(isa), compiled);
  };
  std::optional<Isa> best;
  std::string usable = "auto";
  for (const Isa isa : kAllIsas) {
    if (!is_usable(isa)) continue;
    if (name == isa_name(isa)) return isa;
    best = isa;
    usable += " or " + std::string(isa_name(isa));
  }
  if (!best)
    throw Error({.what = "this program was built for other processors (FORETOKEN_ISAS=native)",
                 .where = "--cpu-isa",
                 .expected = "one built on this machine or with FORETOKEN_ISAS=all",
                 .found = "none of " + list_of_isas([&](Isa isa) { return has_isa(cpu, isa); })});
  if (name == "auto") return *best;
  for (const Isa isa : kAllIsas)
    if (name == isa_name(isa) && has_isa(cpu, isa))
      throw Error({.what = "this program was built without the instruction set " + name +
                           " (FORETOKEN_ISAS=native)",
                   .where = "--cpu-isa",
                   .expected = usable + ", or a build with FORETOKEN_ISAS=all",
                   .found = name});
  for (const Isa isa : kAllIsas)
    if (name == isa_name(isa))
      throw Error({.what = "this machine lacks the instruction set " + name,
                   .where = "--cpu-isa",
                   .expected = "auto or one of " + list_of_isas(is_usable),
                   .found = name});
  throw Error({.what = "unknown instruction set",
               .where = "--cpu-isa",
               .expected = "auto, scalar, neon, avx2, avx512, avx512_bf16 or amx",
               .found = name});
}

GemmOrder select_gemm_order(const std::string& name, const CpuFeatures& cpu) {
  if (name == "tile") return GemmOrder::kTile;
  if (name == "pair") return GemmOrder::kPair;
  if (name != "auto")
    throw Error({.what = "unknown order of addition",
                 .where = "--gemm-order",
                 .expected = "auto, tile or pair (mma: of GPUs)",
                 .found = name});
  return cpu.amx || !cpu.avx512_bf16 ? GemmOrder::kTile : GemmOrder::kPair;
}

}  // namespace foretoken
