#pragma once
// Sums of products of whole groups of codes, in lines of quads (I16: four k of 16 outputs): of R
// rows of the input, and V vectors of outputs. All exact. Where FT_DOT_PAIRS is defined, products of
// few bits are added up in 16 bits as far as these hold them.
// For translation units of kernels only (v16.h).

#include "backend/cpu/simd/int_vectors.h"

namespace foretoken {
namespace {

FT_INLINE std::int32_t quad_of(const char* x, int q) {
  std::int32_t four;
  __builtin_memcpy(&four, x + q * 4, 4);
  return four;
}

// How many quads of pairs 16 bits hold; 1: sums are made of 32 bits at once. A pair is below
// 2 * 2^Bits * 127 in size, input codes being 127 at most.
template <int Bits, int Quads>
constexpr int quads_at_once() {
#ifdef FT_DOT_PAIRS
  constexpr int kHeld = Bits > 6 ? 0 : 32767 / (2 * ((1 << Bits) - 1) * 127);
  constexpr int kAtOnce = kHeld > Quads ? Quads : kHeld;
  static_assert(kAtOnce <= 1 || Quads % kAtOnce == 0);
  return kAtOnce > 1 ? kAtOnce : 1;
#else
  return 1;
#endif
}

// sum += the product of a line of V vectors with four input codes of each row, from x on.
template <int Bits, int R, int V>
FT_INLINE void add_line(const I16 (&bytes)[V], const char* x, std::int64_t x_row_bytes,
                        I16 (&sum)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const char* const four = x + r * x_row_bytes;
#ifdef FT_DOT_AT
    if constexpr (V == 1) {
      sum[r][0] = dot_at(sum[r][0], as_codes8(bytes[0]), four);
      continue;
    }
#endif
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      if constexpr (Bits == 8)
        sum[r][v] = dot(sum[r][v], as_codes8(bytes[v]), input8(quad_of(four, 0)));
      else
        sum[r][v] = dot(sum[r][v], as_codes4(bytes[v]), input4(quad_of(four, 0)));
    }
  }
}

// sum += the product of Quads lines with 4 * Quads input codes of each row.
template <int Bits, int Quads, int R, int V>
FT_INLINE void add_quads(const char* const (&codes)[V], const char* x, std::int64_t x_row_bytes,
                         I16 (&sum)[R][V]) {
  FT_UNROLL
  for (int q = 0; q < Quads; ++q) {
    I16 bytes[V];
    FT_UNROLL
    for (int v = 0; v < V; ++v) bytes[v] = int_load(codes[v] + q * 64);
    add_line<Bits>(bytes, x + q * 4, x_row_bytes, sum);
  }
}

#ifdef FT_DOT_PAIRS
// The same in 16 bits; use(part, held) for every quads_at_once() quads.
template <int Bits, int Quads, int R, int V, class Use>
FT_INLINE void each_pairs(const char* const (&codes)[V], const char* x, std::int64_t x_row_bytes,
                          Use use) {
  constexpr int kAtOnce = quads_at_once<Bits, Quads>();
  FT_UNROLL
  for (int part = 0; part < Quads / kAtOnce; ++part) {
    Pairs held[R][V];
    FT_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int q = part * kAtOnce + i;
      Codes4 w[V];
      FT_UNROLL
      for (int v = 0; v < V; ++v) w[v] = as_codes4(int_load(codes[v] + q * 64));
      FT_UNROLL
      for (int r = 0; r < R; ++r) {
        const Input4 four = input4(quad_of(x + r * x_row_bytes, q));
        FT_UNROLL
        for (int v = 0; v < V; ++v) {
          const Pairs more = pairs(w[v], four);
          held[r][v] = i == 0 ? more : add_pairs(held[r][v], more);
        }
      }
    }
    use(part, held);
  }
}
#endif

// sum[r][v]: the product of Quads lines of codes of Bits with 4 * Quads input codes of row r.
template <int Bits, int Quads, int R, int V>
FT_INLINE void dot_quads(const char* const (&codes)[V], const char* x, std::int64_t x_row_bytes,
                         I16 (&sum)[R][V]) {
#ifdef FT_DOT_PAIRS
  if constexpr (quads_at_once<Bits, Quads>() > 1) {
    each_pairs<Bits, Quads, R, V>(
        codes, x, x_row_bytes, [&](int part, Pairs(&held)[R][V]) __attribute__((always_inline)) {
          FT_UNROLL
          for (int r = 0; r < R; ++r) {
            FT_UNROLL
            for (int v = 0; v < V; ++v)
              sum[r][v] =
                  part == 0 ? sum_pairs(held[r][v]) : int_add(sum[r][v], sum_pairs(held[r][v]));
          }
        });
    return;
  }
#endif
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = int_zero();
  }
  add_quads<Bits, Quads>(codes, x, x_row_bytes, sum);
}

// Factors of 16 outputs, integers of 8 bits, as scaled_quads takes them.
template <int Bits, int Quads>
FT_INLINE I16 factors_for(I16 factors) {
  return quads_at_once<Bits, Quads>() > 1 ? int_pair(factors, factors) : factors;
}

// sum[r][v]: factor times (that product plus the row's start). starts: of the first row, the others
// row_starts apart; null: none. A start is -2^(Bits - 1) times a sum of input codes.
template <int Bits, int Quads, int R, int V>
FT_INLINE void scaled_quads(const char* const (&codes)[V], const char* x, std::int64_t x_row_bytes,
                            const I16 (&factors)[V], const std::int32_t* starts,
                            std::int64_t row_starts, I16 (&sum)[R][V]) {
#ifdef FT_DOT_PAIRS
  if constexpr (quads_at_once<Bits, Quads>() > 1) {
    each_pairs<Bits, Quads, R, V>(codes, x, x_row_bytes,
                                  [&](int part, Pairs(&held)[R][V]) __attribute__((always_inline)) {
                                    FT_UNROLL
                                    for (int r = 0; r < R; ++r) {
                                      FT_UNROLL
                                      for (int v = 0; v < V; ++v) {
                                        const I16 more = times_pairs(held[r][v], factors[v]);
                                        sum[r][v] = part == 0 ? more : int_add(sum[r][v], more);
                                      }
                                    }
                                  });
    if (starts == nullptr) return;
    static_assert((1 << (Bits - 1)) * 127 * 4 * Quads <= 65534, "16 bits hold half of a start");
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      const std::int32_t start = starts[r * row_starts], half = start >> 1;
      const I16 halves = int_pair(int_set1(half), int_set1(start - half));
      FT_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = dot_pairs(sum[r][v], factors[v], halves);
    }
    return;
  }
#endif
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const I16 start = starts == nullptr ? int_zero() : int_set1(starts[r * row_starts]);
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = start;
  }
  add_quads<Bits, Quads>(codes, x, x_row_bytes, sum);
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = int_mul(sum[r][v], factors[v]);
  }
}

}  // namespace
}  // namespace foretoken
