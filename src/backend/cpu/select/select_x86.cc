// The tables of x86-64.
#include "backend/cpu/select/adoption.h"
#include "backend/cpu/select/select_kernels.h"

namespace foretoken {
namespace {

constexpr int kGroupTileWork = 8 * 32;  // rows x k of a group, from where tiles pay for scaling
// Codes are asked for so far ahead where the machine's own prefetching is best left close behind.
constexpr int kNearPrefetchBytes = 2048;

void adopt_tiles(Adoption& adopt) {
  KernelTable& table = adopt.table();
  table.codes.prefetch_bytes = kNearPrefetchBytes;
  if (adopt.product(table.bf16_tile, amx_tile_gemm(), "TDPBF16PS")) {
    table.widened4 = amx_lookup_gemm();
    table.widened8 = amx_bytes_gemm();
    table.looked_up8 = amx_e4m3_gemm();
  }
  if (adopt.attention(table.ops.attention[0], amx_attention, "TDPBF16PS"))
    table.ops.attention_queries = kAttnMaxQueries;
  if (adopt.keeps_its_word(amx_codes_gemm(), 8, "TDPBSUD")) table.codes_row8 = amx_codes_gemm();
  if (adopt.keeps_its_word(amx_groups_gemm(), 4, "TDPBSSD")) {
    table.codes_groups4 = amx_groups_gemm();
    table.groups4_work = kGroupTileWork;
  }
}

}  // namespace

KernelTable select_kernels(Isa isa) {
  if (isa == Isa::kScalar) return scalar_kernels();
  const CpuFeatures cpu = detect_cpu();
  const std::vector<std::string_view> compiled = compiled_tables();
  Adoption adopt(isa == Isa::kAvx2 ? avx2_kernels() : avx512_kernels());
  KernelTable& table = adopt.table();
  if (isa == Isa::kAvx2 && cpu.avx_vnni && is_compiled("avx_vnni", compiled))
    adopt.codes(avx_vnni_codes_gemm(), "VPDPBUSD");
  if (isa >= Isa::kAvx512 && cpu.avx512_vnni && is_compiled("avx512_vnni", compiled))
    adopt.codes(avx512_vnni_codes_gemm(), "VPDPBUSD");
  if (isa >= Isa::kAvx512Bf16) {
    adopt.product(table.bf16_pair, avx512_bf16_pair_gemm(), "VDPBF16PS");
    adopt.attention(table.ops.attention_pair, avx512_bf16_attention, "VDPBF16PS");
  }
  if (isa >= Isa::kAmx) adopt_tiles(adopt);
  return table;
}

}  // namespace foretoken
