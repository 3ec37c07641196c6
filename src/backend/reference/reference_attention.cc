#include "backend/reference/reference_attention.h"

#include <algorithm>

#include "backend/float_view.h"
#include "backend/host/host_step.h"
#include "backend/kv_codes.h"
#include "base/index.h"

namespace foretoken {
namespace {

std::int64_t scale_index(const KvLayer& kv, std::int32_t slot, std::int64_t h) {
  return (slot / kPageTokens * kv.k.dim(1) + h) * kPageTokens + slot % kPageTokens;
}

template <typename Place>
void store_part(const KvLayer& kv, const float* x, const Tensor& to, const Tensor& scales,
                std::int64_t scale, const Place& place) {
  const std::int64_t dim = kv.k.dim(2);
  if (is_kv_code(to.dtype())) {
    std::vector<std::uint8_t> codes(at(dim));
    scales.f32()[scale] = round_kv_row(to.dtype(), x, dim, codes.data());
    for (std::int64_t d = 0; d < dim; ++d)
      static_cast<std::uint8_t*>(to.data())[place(d)] = codes[at(d)];
    return;
  }
  for (std::int64_t d = 0; d < dim; ++d) store_float(to.data(), to.dtype(), place(d), x[d]);
}

// Element i of keys or values; scale: of codes, of the row that it belongs to.
double kv_value(const Tensor& kv, std::int64_t i, const Tensor& scales, std::int64_t scale) {
  if (scales.empty()) return load_float(kv.data(), kv.dtype(), i);
  const std::uint8_t code = static_cast<const std::uint8_t*>(kv.data())[i];
  return static_cast<double>(kv_code_value(kv.dtype(), code)) * scales.f32()[scale];
}

}  // namespace

void store_reference_head(const KvLayer& kv, std::int32_t slot, std::int64_t h, const float* k,
                          const float* v) {
  store_part(kv, k, kv.k, kv.k_scale, scale_index(kv, slot, h),
             [&](std::int64_t d) { return host_key_at(kv, slot, h, d); });
  if (v == nullptr) return;
  store_part(kv, v, kv.v, kv.v_scale, scale_index(kv, slot, h),
             [&](std::int64_t d) { return host_value_at(kv, slot, h, d); });
}

void attend_reference_head(const float* q, const KvLayer& kv, const AttentionShape& shape, int head,
                           const std::vector<std::int32_t>& slots, float* out) {
  const int h = head / (shape.heads / shape.kv_heads);
  std::vector<double> p(slots.size());
  double max = -INFINITY, sum = 0.0;
  // Keys of bf16 meet queries rounded like them. Nothing else is rounded.
  const bool round = kv.k.dtype() == DType::kBF16;
  for (std::size_t j = 0; j < slots.size(); ++j) {
    double dot = 0.0;
    for (int d = 0; d < shape.head_dim; ++d) {
      const double factor = round ? round_to(DType::kBF16, q[d]) : q[d];
      dot += factor * kv_value(kv.k, host_key_at(kv, slots[j], h, d), kv.k_scale,
                               scale_index(kv, slots[j], h));
    }
    p[j] = dot * shape.scale;
    if (shape.score_cap > 0) p[j] = soft_capped(p[j], shape.score_cap);
    max = std::max(max, p[j]);
  }
  if (!kv.sinks.empty()) {
    max = std::max<double>(max, kv.sinks.f32()[head]);
    sum = std::exp(kv.sinks.f32()[head] - max);
  }
  for (double& x : p) sum += x = std::exp(x - max);
  const auto value_of = [&](std::int32_t slot, int d) {
    const std::int64_t scale = scale_index(kv, slot, h);
    return shape.has_stored_values()
               ? kv_value(kv.v, host_value_at(kv, slot, h, d), kv.v_scale, scale)
               : kv_value(kv.k, host_key_at(kv, slot, h, d), kv.k_scale, scale);
  };
  for (int d = 0; d < shape.out_dim(); ++d) {
    double o = 0.0;
    for (std::size_t j = 0; j < slots.size(); ++j) o += p[j] * value_of(slots[j], d);
    out[d] = static_cast<float>(o / sum);
  }
}

}  // namespace foretoken
