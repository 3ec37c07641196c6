#pragma once
// StreamNorm: the norms of the stream in a model: RMS norms, or layer norms, which take the mean
// away before. Plain data.

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"

namespace foretoken {

struct StreamNorm {
  float eps;
  bool is_centred;

  explicit StreamNorm(const ModelConfig& config)
      : eps(config.rms_eps), is_centred(config.centres_stream) {}

  // out = norm(stream) * weight
  void run(StepOps& ops, Tensor stream, Tensor weight, Tensor out) const {
    if (!is_centred) return ops.norm(stream, weight, eps, out);
    ops.centre(stream, out);
    ops.norm(out, weight, eps, out);
  }
  // stream += delta before.
  void add_run(StepOps& ops, Tensor stream, Tensor delta, Tensor weight, Tensor out) const {
    if (!is_centred) return ops.add_norm(stream, delta, weight, eps, out);
    ops.add(stream, delta);
    run(ops, stream, weight, out);
  }
};

}  // namespace foretoken
