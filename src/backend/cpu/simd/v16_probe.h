#pragma once
// For tests: every V16 operation of one instruction set, applied to arrays. Compiled once per set;
// plain functions only, for the reason given in kernels.h.

#include <cstdint>

namespace foretoken {

inline constexpr int kProbeFloats = 31 * 16;   // outputs of one probe, 16 per operation
inline constexpr int kProbeExp = 0;            // where exp(a) stands among them
inline constexpr int kProbeWeights = 24 * 16;  // 2^min(a, 0) of degree 5
inline constexpr int kProbeRough = 26 * 16;    // and of degree 3
inline constexpr int kProbeTanh = 29 * 16;
inline constexpr int kProbeErf = 30 * 16;
inline constexpr int kProbeBits = 2 * 16;

struct V16Inputs {
  const float* a;             // [16]
  const float* b;             // [16]
  const float* c;             // [16]
  const std::uint16_t* bits;  // [32] bf16 or fp16
  int n;                      // 0..16 lanes
};
struct V16Outputs {
  float* floats;        // [kProbeFloats]
  std::uint16_t* bits;  // [kProbeBits]: a as bf16, a as fp16
};
using V16Probe = void (*)(const V16Inputs&, const V16Outputs&);

void scalar_v16_probe(const V16Inputs& in, const V16Outputs& out);
void neon_v16_probe(const V16Inputs& in, const V16Outputs& out);
void avx2_v16_probe(const V16Inputs& in, const V16Outputs& out);
void avx512_v16_probe(const V16Inputs& in, const V16Outputs& out);
void avx512_bf16_v16_probe(const V16Inputs& in, const V16Outputs& out);

}  // namespace foretoken
