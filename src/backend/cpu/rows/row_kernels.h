#pragma once
// Kernels of single rows: norm, addition, activation, rotation with the store of keys and values.
// For translation units of kernels only (v16.h).

#include "backend/cpu/rows/kv_formats.h"
#include "backend/cpu/simd/curves.h"
#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/op_kernels.h"

namespace foretoken {
namespace {

FT_INLINE int lanes_from(std::int64_t i, std::int64_t width) {
  return width - i < 16 ? static_cast<int>(width - i) : 16;
}
FT_INLINE V16 load_some(const float* p, int n) { return n == 16 ? load(p) : load_n(p, n); }
FT_INLINE void store_some(float* p, V16 a, int n) {
  if (n == 16)
    store(p, a);
  else
    store_n(p, a, n);
}

inline void norm_row(const float* x, const float* weight, std::int64_t width, float eps,
                     float* out) {
  V16 squares = zero();
  for (std::int64_t i = 0; i < width; i += 16) {
    const V16 a = load_some(x + i, lanes_from(i, width));
    squares = fma(a, a, squares);
  }
  const V16 mean = div(set1(reduce_sum(squares)), set1(static_cast<float>(width)));
  const V16 scale = div(set1(1.0F), sqrt(add(mean, set1(eps))));
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(out + i, mul(mul(load_some(x + i, n), scale), load_some(weight + i, n)), n);
  }
}

inline void centre_row(const float* x, std::int64_t width, float* out) {
  V16 sum = zero();
  for (std::int64_t i = 0; i < width; i += 16)
    sum = add(sum, load_some(x + i, lanes_from(i, width)));
  const V16 mean = div(set1(reduce_sum(sum)), set1(static_cast<float>(width)));
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(out + i, sub(load_some(x + i, n), mean), n);
  }
}

inline void add_row(float* a, const float* b, std::int64_t width) {
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(a + i, add(load_some(a + i, n), load_some(b + i, n)), n);
  }
}

inline void scale_row(float* x, std::int64_t width, float factor) {
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(x + i, mul(load_some(x + i, n), set1(factor)), n);
  }
}

FT_INLINE V16 capped(V16 a, V16 cap, V16 inverse) { return mul(cap, tanh_of(mul(a, inverse))); }

inline void soft_cap_row(float* x, std::int64_t width, float cap) {
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(x + i, capped(load_some(x + i, n), set1(cap), set1(1.0F / cap)), n);
  }
}

// x / (1 + e^-y).
FT_INLINE V16 weigh_by_logistic(V16 x, V16 y) {
  return div(x, add(set1(1.0F), exp(sub(zero(), y))));
}

template <Activation kAct>
FT_INLINE V16 activate(V16 g) {
  if constexpr (kAct == Activation::kSilu) return weigh_by_logistic(g, g);
  if constexpr (kAct == Activation::kGeluTanh) {
    // 2 * sqrt(2 / pi) * (x + 0.044715 x^3)
    const V16 cubic = fma(mul(set1(0.044715F), mul(g, g)), g, g);
    return weigh_by_logistic(g, mul(set1(1.59576912F), cubic));
  }
  if constexpr (kAct == Activation::kGelu)
    return mul(mul(set1(0.5F), g), add(set1(1.0F), erf_of(mul(g, set1(0.707106781F)))));
}

template <Activation kAct>
FT_INLINE V16 gated(V16 gate, V16 up) {
  if constexpr (kAct == Activation::kClampedSwiglu) {
    const V16 limit = set1(7.0F), g = min(limit, gate), u = min(limit, max(set1(-7.0F), up));
    return mul(weigh_by_logistic(g, mul(set1(1.702F), g)), add(u, set1(1.0F)));
  } else {
    return mul(activate<kAct>(gate), up);
  }
}

template <Activation kAct>
void gated_act_row(const float* gate, const float* up, std::int64_t width, float* out) {
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(out + i, gated<kAct>(load_some(gate + i, n), load_some(up + i, n)), n);
  }
}

// Rotates the pairs among the first rotary_dim elements; Row: RopeRow or LatentRow.
template <typename Row>
FT_INLINE void rotate(const Row& row, const float* from, float* out) {
  const int half = row.rotary_dim / 2;
  for (int i = 0; i < row.pairs; i += 16) {
    const int n = lanes_from(i, row.pairs);
    const V16 c = load_some(row.cos + i, n), s = load_some(row.sin + i, n);
    const V16 a = load_some(from + i, n), b = load_some(from + half + i, n);
    store_some(out + i, sub(mul(a, c), mul(b, s)), n);
    store_some(out + half + i, add(mul(b, c), mul(a, s)), n);
  }
  for (int i = row.pairs; i < half; ++i) out[i] = from[i], out[half + i] = from[half + i];
}

// Normalises (weight not null) and rotates one head.
FT_INLINE void turn_head(const RopeRow& row, const float* head, const float* weight, float* out) {
  const float* from = head;
  if (weight != nullptr) {
    norm_row(head, weight, row.head_dim, row.eps, out);
    from = out;
  }
  rotate(row, from, out);
  for (int i = row.rotary_dim; i < row.head_dim; ++i) out[i] = from[i];
}

// A key of `dim` elements to its place, of the first KV head.
template <typename Kv>
FT_INLINE void store_key_row(const float* key, int dim, typename Kv::Element* k, float* scale) {
  if constexpr (Kv::kIsCode) {
    *scale = Kv::write_row(key, dim, Kv::kLast, k, kAttnSlots);
  } else {
    for (int d = 0; d < dim; d += 16) {
      const int n = lanes_from(d, dim);
      Kv::store_key(k, d, load_some(key + d, n), n);
    }
  }
}

// `apart`: room for rotary_dim elements.
FT_INLINE void turn_part(const LatentRow& row, const float* from, float* apart, float* out) {
  if (row.pairs_neighbours) {
    const int half = row.rotary_dim / 2;
    for (int i = 0; i < half; ++i) apart[i] = from[2 * i], apart[half + i] = from[2 * i + 1];
    from = apart;
  }
  rotate(row, from, out);
}

template <typename Kv>
void store_latent_row(const LatentRow& row) {
  float* const apart = row.temp + (row.head_dim + 15) / 16 * 16;
  for (int h = 0; h < row.heads; ++h)
    turn_part(row, row.q_in + h * row.q_step, apart, row.q + h * row.head_dim + row.value_dim);
  if (row.k == nullptr) return;
  norm_row(row.kv_in, row.norm, row.value_dim, row.eps, row.temp);
  turn_part(row, row.kv_in + row.value_dim, apart, row.temp + row.value_dim);
  store_key_row<Kv>(row.temp, row.head_dim, static_cast<typename Kv::Element*>(row.k), row.k_scale);
}

template <typename Kv>
void rope_store_row(const RopeRow& row) {
  using Element = typename Kv::Element;
  const int dim = row.head_dim;
  for (int h = 0; h < row.heads; ++h)
    turn_head(row, row.q_in + h * dim, row.q_weight, row.q + h * dim);
  auto* k = static_cast<Element*>(row.k);
  auto* v = static_cast<Element*>(row.v);
  for (int h = 0; h < row.kv_heads; ++h) {
    const std::int64_t at = static_cast<std::int64_t>(h) * dim * kAttnSlots;
    const float* v_in = row.v_in + h * dim;
    if (k != nullptr) turn_head(row, row.k_in + h * dim, row.k_weight, row.temp);
    if constexpr (Kv::kIsCode) {
      if (k != nullptr)
        row.k_scale[h * kAttnSlots] = Kv::write_row(row.temp, dim, Kv::kLast, k + at, kAttnSlots);
      if (v != nullptr)
        row.v_scale[h * kAttnSlots] = Kv::write_row(v_in, dim, Kv::kLast, v + at, 1);
    } else {
      for (int d = 0; d < dim; d += 16) {
        const int n = lanes_from(d, dim);
        if (k != nullptr) Kv::store_key(k + at, d, load_some(row.temp + d, n), n);
        if (v != nullptr) Kv::store_value(v + at, d, load_some(v_in + d, n), n);
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
