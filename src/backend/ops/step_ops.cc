#include "backend/ops/step_ops.h"

namespace foretoken {

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
