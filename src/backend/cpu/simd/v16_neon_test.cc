// The V16 probe of the instruction set "neon".
#define FT_V16_NEON
#include "backend/cpu/simd/v16_probe_body.h"

namespace foretoken {

void neon_v16_probe(const V16Inputs& in, const V16Outputs& out) { v16_probe(in, out); }

}  // namespace foretoken
