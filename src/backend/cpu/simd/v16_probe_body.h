// The probe of v16_probe.h over the V16 of the including translation unit.

#include "backend/cpu/simd/curves.h"
#include "backend/cpu/simd/v16.h"
#include "backend/cpu/simd/v16_probe.h"

namespace foretoken {
namespace {

inline void v16_probe(const V16Inputs& in, const V16Outputs& out) {
  const V16 a = load(in.a), b = load(in.b), c = load(in.c);
  const V16 ones = set1(1.0F);
  const V16 t = add(round_even(min(max(c, set1(-40.0F)), set1(40.0F))), set1(kRoundMagic));
  float partial[16];
  for (float& lane : partial) lane = 7.0F;
  store_n(partial, a, in.n);
  const V16 weights = exp2_not_above_zero(min(a, zero()));
  V16 rows[16];
  for (int i = 0; i < 16; ++i)
    rows[i] = i % 3 == 0 ? a : i % 3 == 1 ? b : mul(c, set1(static_cast<float>(i)));
  const V16 results[] = {exp(a),
                         fma(a, b, c),
                         add(a, b),
                         sub(a, b),
                         mul(a, b),
                         div(a, b),
                         sqrt(a),
                         max(a, b),
                         min(a, b),
                         round_even(c),
                         select(less(a, b), ones, c),
                         select(less_equal(a, b), ones, c),
                         select(is_nan(a), ones, zero()),
                         select(lanes(in.bits[0]), a, b),
                         add_exponent(ones, t),
                         load_bf16(in.bits),
                         load_f16(in.bits),
                         even_bf16(in.bits),
                         odd_bf16(in.bits),
                         round_bf16(a),
                         load_n(in.b, in.n),
                         load(partial),
                         set1(reduce_sum(c)),
                         set1(reduce_max(a)),
                         weights,
                         round_plain_bf16(weights),
                         exp2_not_above_zero<3>(min(a, zero())),
                         reduce_rows_sum(rows),
                         reduce_rows_max(rows),
                         tanh_of(b),
                         erf_of(b)};
  static_assert(sizeof results == kProbeFloats * sizeof(float));
  float* to = out.floats;
  for (const V16& result : results) {
    store(to, result);
    to += 16;
  }
  store_bf16(out.bits, a);
  store_f16(out.bits + 16, a);
}

}  // namespace
}  // namespace foretoken
