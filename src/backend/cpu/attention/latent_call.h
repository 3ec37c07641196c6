#pragma once
// LatentCall: the keys and the rotated queries of latent attention, for the rows of a batch in one
// layer: where each row's parts, its position and its KV slot are. Built per call, read by all
// workers.

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/table/op_kernels.h"
#include "backend/host/host_step.h"
#include "backend/ops/step_ops.h"
#include "base/index.h"

namespace foretoken {

struct LatentCall {
  void (*kernel)(const LatentRow& row);
  const LatentRows& latent;
  const RopeTable& rope;
  const AttentionShape& shape;
  const Batch& batch;
  const KvLayer& kv;
  Tensor q;
  float* temp;  // of each worker temp_floats(shape)

  static std::size_t temp_floats(const AttentionShape& shape) {
    return at(2 * round_up(shape.head_dim, 16));
  }

  void store(int r, int worker) const {
    const std::int64_t width = latent.q.dim(1) / shape.heads;
    const std::int32_t slot = batch.kv_slot[at(r)], position = batch.position[at(r)];
    const bool rotates = rope.rotary_dim > 0, stores = slot >= 0;
    const auto place = [&] {
      return static_cast<char*>(kv.k.data()) +
             host_key_at(kv, slot, 0, 0) * static_cast<std::int64_t>(dtype_bytes(kv.k.dtype()));
    };
    kernel({.q_in = latent.q.row_f32(r) + width - rope.rotary_dim,
            .q_step = width,
            .kv_in = latent.kv.row_f32(r),
            .norm = latent.norm.f32(),
            .eps = latent.eps,
            .cos = rotates ? rope.cos.row_f32(position) : nullptr,
            .sin = rotates ? rope.sin.row_f32(position) : nullptr,
            .heads = shape.heads,
            .head_dim = shape.head_dim,
            .value_dim = shape.value_dim,
            .rotary_dim = rope.rotary_dim,
            .pairs = rope.pairs(),
            .pairs_neighbours = latent.pairs_neighbours,
            .q = q.row_f32(r),
            .k = stores ? place() : nullptr,
            .k_scale = stores && !kv.k_scale.empty() ? kv.k_scale.f32() + slot : nullptr,
            .temp = temp + at(worker) * temp_floats(shape)});
  }
};

}  // namespace foretoken
