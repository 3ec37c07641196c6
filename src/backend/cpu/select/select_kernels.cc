#include "backend/cpu/select/select_kernels.h"

#include "backend/cpu/select/kernel_check.h"
#include "base/log.h"

namespace foretoken {
namespace {

constexpr int kGroupTileWork = 8 * 32;  // rows x k of a group, from where tiles pay for scaling
// Codes are asked for so far ahead where the machine's own prefetching is best left close behind.
constexpr int kNearPrefetchBytes = 2048;

}  // namespace

KernelTable select_kernels(Isa isa) {
  if (isa == Isa::kScalar) return scalar_kernels();
  const CpuFeatures cpu = detect_cpu();
  KernelTable table = isa == Isa::kAvx2 ? avx2_kernels() : avx512_kernels();
  // Whether a candidate is taken in the place of a kernel.
  const auto adopt = [](GemmKernels& kernels, const GemmKernels& faster, const char* instruction) {
    const bool is_same = reproduces(faster, kernels);
    if (is_same)
      kernels = faster;
    else
      log_warning("{} adds in another order than documented on this processor and is not used",
                  instruction);
    return is_same;
  };
  const auto adopt_attention = [](auto& kernel, auto* faster, const char* instruction) {
    const bool is_same = reproduces_attention(faster, kernel);
    if (is_same)
      kernel = faster;
    else
      log_warning("attention by {} gives other bits than documented and is not used", instruction);
    return is_same;
  };
  // Products of codes are exact, and so the same by any instruction that keeps its word.
  const auto keeps_its_word = [&](const GemmKernels& faster, int bits, const char* instruction) {
    const bool is_same = reproduces_codes(faster, table.codes, bits);
    if (!is_same)
      log_warning("{} adds other sums than documented on this processor and is not used",
                  instruction);
    return is_same;
  };
  const auto adopt_codes = [&](const GemmKernels& faster) {
    if (keeps_its_word(faster, 0, "VPDPBUSD")) table.codes = table.codes_row8 = faster;
  };
  if (isa == Isa::kAvx2 && cpu.avx_vnni) adopt_codes(avx_vnni_codes_gemm());
  if (isa >= Isa::kAvx512 && cpu.avx512_vnni) adopt_codes(avx512_vnni_codes_gemm());
  if (isa >= Isa::kAvx512Bf16) {
    adopt(table.bf16_pair, avx512_bf16_pair_gemm(), "VDPBF16PS");
    adopt_attention(table.ops.attention_pair, avx512_bf16_attention, "VDPBF16PS");
  }
  if (isa >= Isa::kAmx) {
    table.codes.prefetch_bytes = kNearPrefetchBytes;
    if (adopt(table.bf16_tile, amx_tile_gemm(), "TDPBF16PS")) {
      table.widened4 = amx_lookup_gemm();
      table.widened8 = amx_bytes_gemm();
      table.looked_up8 = amx_e4m3_gemm();
    }
    if (adopt_attention(table.ops.attention[0], amx_attention, "TDPBF16PS"))
      table.ops.attention_queries = kAttnMaxQueries;
    if (keeps_its_word(amx_codes_gemm(), 8, "TDPBSUD")) table.codes_row8 = amx_codes_gemm();
    if (keeps_its_word(amx_groups_gemm(), 4, "TDPBSSD")) {
      table.codes_groups4 = amx_groups_gemm();
      table.groups4_work = kGroupTileWork;
    }
  }
  return table;
}

}  // namespace foretoken
