#include "model/decoder/dense_and_experts.h"

namespace foretoken {

DenseAndExperts::DenseAndExperts(WeightReader& read, const ModelConfig& config,
                                 const std::string& prefix, int layer)
    : dense_(read, config, {.prefix = prefix + "mlp.", .width = config.intermediate_of(layer)}),
      experts_(read, config, prefix),
      eps_(config.rms_eps) {
  const auto norm = [&](std::string_view name) {
    return read.vector(prefix + std::string(name) + ".weight", config.hidden, config.norm_offset);
  };
  const BesideNorms& names = config.experts.beside;
  after_dense_ = norm(names.mlp);
  before_experts_ = norm(names.before);
  after_experts_ = norm(names.after);
}

void DenseAndExperts::forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const {
  dense_.forward(ops, in, stream, out);
  ops.norm(out, after_dense_, eps_, out);
  const ScratchScope inside(ops);
  const Tensor normed = ops.temp(DType::kF32, stream.shape());
  const Tensor mixed = ops.temp(DType::kF32, stream.shape());
  ops.norm(stream, before_experts_, eps_, normed);
  experts_.forward(ops, normed, stream, mixed);
  ops.norm(mixed, after_experts_, eps_, mixed);
  ops.add(out, mixed);
}

}  // namespace foretoken
