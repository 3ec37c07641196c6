#include "backend/ops/step_ops.h"

#include "base/error.h"

namespace foretoken {

void expect_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                   const Batch& batch, const KvLayer& kv, const Tensor& q) {
  CHECK(shape.value_dim > 0 && shape.kv_heads == 1 &&
        shape.head_dim == shape.value_dim + rope.rotary_dim)
      << "keys of " << shape.head_dim << " with values of " << shape.value_dim;
  expect(latent.kv, {batch.rows, shape.head_dim}, DType::kF32);
  expect(latent.norm, {shape.value_dim}, DType::kF32);
  expect(q, {batch.rows, shape.heads * shape.head_dim}, DType::kF32);
  expect(kv.k, {-1, 1, shape.head_dim, kPageTokens}, kv.k.dtype());
}

void StepOps::gather_rows(Tensor x, std::span<const std::int32_t> rows, Tensor out) {
  expect(out, {-1, x.dim(1)}, DType::kF32);
  gather_columns(x, rows, out, 0);
}

void StepOps::project_qkv(const PackedLinear& w, Tensor x, const RopeTable& rope,
                          const QkNorm& qk_norm, const AttentionShape& shape, const Batch& batch,
                          const KvLayer& kv, Tensor q) {
  const Tensor qkv = temp(DType::kF32, {x.dim(0), w.out_width()});
  linear(w, x, qkv);
  rope_store_kv(qkv, rope, qk_norm, shape, batch, kv, q);
}

void StepOps::attend(Tensor q, const KvLayer& kv, const AttentionPlan& plan, const PackedLinear& o,
                     Tensor out) {
  const Tensor attended = temp(DType::kF32, q.shape());
  attention(q, kv, plan, attended);
  linear(o, attended, out);
}

void StepOps::gated_mlp(const PackedLinear& gate_up, const PackedLinear& down, Activation act,
                        Tensor x, Tensor out) {
  const Tensor both = temp(DType::kF32, {x.dim(0), gate_up.out_width()});
  const Tensor gated = temp(DType::kF32, {x.dim(0), down.in_width()});
  linear(gate_up, x, both);
  gated_act(both, act, gated);
  linear(down, gated, out);
}

}  // namespace foretoken
