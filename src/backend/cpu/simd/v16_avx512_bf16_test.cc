// The V16 probe of the instruction set "avx512_bf16".
#define FT_V16_AVX512
#include "backend/cpu/simd/v16_probe_body.h"

namespace foretoken {

void avx512_bf16_v16_probe(const V16Inputs& in, const V16Outputs& out) { v16_probe(in, out); }

}  // namespace foretoken
