#pragma once
// RopeCall: rotation and store of keys and values for the rows of one batch in one layer: where
// each row's position and KV slot are. Built per call, read by all workers.

#include "backend/attention_shape.h"
#include "backend/cpu/attention/attention.h"
#include "backend/cpu/table/op_kernels.h"
#include "backend/host/host_step.h"
#include "backend/kv_shape.h"
#include "backend/rope_table.h"
#include "base/index.h"
#include "batch/batch.h"

namespace foretoken {

struct RopeCall {
  void (*kernel)(const RopeRow& row);
  const RopeTable& rope;
  const QkNorm& qk_norm;
  const AttentionShape& shape;
  const Batch& batch;
  const KvLayer& kv;
  Tensor q;
  float* temp;  // of each worker temp_floats(shape)

  static std::size_t temp_floats(const AttentionShape& shape) {
    return at(round_up(shape.head_dim + 16, 16));
  }

  // All heads of a row, side by side: q | k | v.
  void store(int r, int worker, const float* qkv) const {
    RopeRow row = row_of(r, worker);
    row.heads = shape.heads;
    row.kv_heads = shape.kv_heads;
    row.q_in = qkv;
    row.k_in = qkv + shape.heads * shape.head_dim;
    row.v_in = row.k_in + shape.kv_heads * shape.head_dim;
    kernel(row);
  }

  // One head of them, counted through q, k and v.
  void store_head(int r, int worker, int head, const float* values) const {
    RopeRow row = row_of(r, worker);
    if (head < shape.heads) {
      row.heads = 1;
      row.q_in = values;
      row.q += head * shape.head_dim;
    } else {
      const bool is_key = head < shape.heads + shape.kv_heads;
      row.kv_heads = 1;
      row.k_in = row.v_in = values;
      const int kv_head = (head - shape.heads) % shape.kv_heads;
      const std::int64_t offset = std::int64_t{kv_head} * shape.head_dim * kPageTokens *
                                  static_cast<std::int64_t>(dtype_bytes(kv.k.dtype()));
      row.k = is_key && row.k != nullptr ? static_cast<char*>(row.k) + offset : nullptr;
      row.v = !is_key && row.v != nullptr ? static_cast<char*>(row.v) + offset : nullptr;
      if (row.k_scale != nullptr) {
        row.k_scale += kv_head * kPageTokens;
        row.v_scale += kv_head * kPageTokens;
      }
    }
    kernel(row);
  }

 private:
  RopeRow row_of(int r, int worker) const {
    const auto element = static_cast<std::int64_t>(dtype_bytes(kv.k.dtype()));
    const std::int32_t slot = batch.kv_slot[at(r)];
    char* k = static_cast<char*>(kv.k.data());
    char* v = static_cast<char*>(kv.v.data());
    if (slot >= 0) {
      k += host_key_at(kv, slot, 0, 0) * element;
      v += host_value_at(kv, slot, 0, 0) * element;
    }
    const bool rotates = rope.rotary_dim > 0;
    const bool has_scales = slot >= 0 && !kv.k_scale.empty();
    const std::int64_t scale =
        std::int64_t{slot} / kPageTokens * shape.kv_heads * kPageTokens + slot % kPageTokens;
    return {.q_in = nullptr,
            .k_in = nullptr,
            .v_in = nullptr,
            .cos = rotates ? rope.cos.row_f32(batch.position[at(r)]) : nullptr,
            .sin = rotates ? rope.sin.row_f32(batch.position[at(r)]) : nullptr,
            .q_weight = qk_norm.q_weight.empty() ? nullptr : qk_norm.q_weight.f32(),
            .k_weight = qk_norm.k_weight.empty() ? nullptr : qk_norm.k_weight.f32(),
            .eps = qk_norm.eps,
            .heads = 0,
            .kv_heads = 0,
            .head_dim = shape.head_dim,
            .rotary_dim = rope.rotary_dim,
            .pairs = rope.pairs(),
            .q = q.row_f32(r),
            .k = slot < 0 ? nullptr : k,
            .v = slot < 0 ? nullptr : v,
            .k_scale = has_scales ? kv.k_scale.f32() + scale : nullptr,
            .v_scale = has_scales ? kv.v_scale.f32() + scale : nullptr,
            .temp = temp + at(worker) * temp_floats(shape)};
  }
};

}  // namespace foretoken
