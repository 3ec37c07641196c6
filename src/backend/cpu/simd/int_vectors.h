#pragma once
// I16: sixteen int32 lanes beside V16, and the product of codes: of each lane four unsigned codes
// of a weight with four signed ones of the input, added to the lane. All exact, so every variant
// gives the same bits, however it gets there. For translation units of kernels only (v16.h). With
// FT_DOT_VNNI defined the product is VPDPBUSD; without it codes of 8 bits go through 16-bit
// products, because VPMADDUBSW saturates for them.
//
// Every variant defines:
//   I16 int_zero()  int_set1(i)  int_load(p)  int_store(p, v)  int_add  int_sub  int_mul (low half)
//   to_float(v): to nearest even    to_int(v): of a V16 of integers    load_i16(p): of 16 int16
//   Codes8 codes8(line), Codes4 low_codes(line), high_codes(line): weights ready for dot
//   Input8 input8(quad), Input4 input4(quad): four codes of the input ready for dot
//   dot(acc, codes, input)
//   less_zeros(codes4, zeros): its bytes less those of an I16
//   store_i8(p, v): 16 integers within +-127    byte_of<I>(line): byte I of each lane, unsigned
//   nibble_of<Shift, Zero>(line): the 4 bits from Shift on of each lane less Zero, as floats
//   e4m3_of<I>(line): byte I of each lane as a float of E4M3 that is not NaN, times kE4M3Unit
//   bf16_pair(a, b): a in the low half of each lane, b in the high one; all are bf16 already
//   bits_to_float(v), bits_to_int(v): the same bits
//   load_i8(p): of 16 int8
//   int_pair(a, b): a in the low half of each lane, b in the high one; both fit 16 bits
//   dot_pairs(acc, a, b): of such pairs, low times low plus high times high added to acc
// And of the 64 bytes of an I16:
//   field<Right, Mask, Left>(v): ((byte >> Right) & Mask) << Left    either(a, b): the bits of both
//   listed(v): bytes below 16 looked up in a table of 16 bytes
//   as_codes4(v), as_codes8(v): ready for dot; of the first no byte is above 127
//   dot_at(acc, codes, quad): where FT_DOT_AT is defined, dot with a quad that is read by the product
// Where FT_DOT_PAIRS is defined, dot of codes4 is taken apart: pairs() of neighbours in 16 bits, which
// may be added up, add_pairs(), as long as 16 bits hold them, and sum_pairs() of these.
// times_pairs(a, f): sum_pairs(a) times the factor of each lane, int_pair(factor, factor).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

// E4M3 with its bits 0 to 6 at 20 to 26 and so much more exponent is itself times kE4M3Unit, but
// for the numbers below its normal ones, which that makes (1 + m / 8) 2^-15 of m / 8 * 2^-14. No
// denormal is touched, so that flushing them does no harm.
constexpr std::int32_t kE4M3Bits = 0x07f00000, kE4M3Exponent = 0x38000000;
constexpr std::int32_t kSignBit = -0x7fffffff - 1;
constexpr float kE4M3Unit = 0x1p-8F;
FT_INLINE V16 below_normal(V16 a) { return min(a, fma(a, set1(2.0F), set1(-0x1p-14F))); }

}  // namespace
}  // namespace foretoken

#if defined(FT_V16_NEON)
#include "backend/cpu/simd/int_vectors_neon.h"
#elif defined(FT_V16_AVX512)
#include "backend/cpu/simd/int_vectors_avx512.h"
#elif defined(FT_V16_AVX2)
#include "backend/cpu/simd/int_vectors_avx2.h"
#else
#include "backend/cpu/simd/int_vectors_scalar.h"
#endif
