// What AVX512_BF16 adds to the table of "avx512": the pair order by VDPBF16PS.
#define FT_V16_AVX512
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/attention/attention_dot.h"
#include "backend/cpu/matmul/kernels/dot_bf16.h"
#include "backend/cpu/matmul/kernels/dot_codes_kept.h"

namespace foretoken {

GemmKernels avx512_bf16_pair_gemm() {
  return {.pack_x = pack_x_bf16,
          .run = run_gemm<PairDot>,
          .peak = dot_peak,
          .x_bytes = PairDot::kXBytes,
          .x_row_extra = 32,
          .row_step = 1,
          .max_rows = 1 << 30,
          .run_codes = run_codes_by_dot,
          .code_rows = kMostWidenedRows};
}

void avx512_bf16_attention(const AttnItem& item) { bf16_attention_item<DotLines>(item); }

}  // namespace foretoken
