#pragma once
// Whether this processor's dot-product instruction computes what its manual says. The promise of
// equal bits rests on the order of additions inside VDPBF16PS and TDPBF16PS, so each is compared
// with multiply-adds once at start, in less than a millisecond; one that differs is not used.

#include "backend/cpu/table/kernels.h"

namespace foretoken {

// True when both give the same bits on random operands of all magnitudes, denormals included.
bool reproduces(const GemmKernels& candidate, const GemmKernels& definition);

// The same of products of codes, on random codes of so many bits; 0: of 8 and of 4.
bool reproduces_codes(const GemmKernels& candidate, const GemmKernels& definition, int bits = 0);

// The same of attention over KV of bf16, of chains of more queries than a tile has rows.
bool reproduces_attention(void (*candidate)(const AttnItem&), void (*definition)(const AttnItem&));

}  // namespace foretoken
