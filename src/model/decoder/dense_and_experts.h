#pragma once
// DenseAndExperts: an MLP that every row uses, and a mixture of experts beside it, each with norms
// of its own (BesideNorms). Immutable after construction.

#include <string>

#include "model/decoder/expert_mlp.h"
#include "model/decoder/gated_mlp.h"
#include "model/decoder/mlp.h"

namespace foretoken {

class DenseAndExperts final : public Mlp {
 public:
  // prefix: of the layer's tensors, with the dot.
  DenseAndExperts(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                  int layer);

  void forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const override;
  std::size_t expert_bytes() const override { return experts_.expert_bytes(); }

 private:
  GatedMlp dense_;
  ExpertMlp experts_;
  Tensor after_dense_, before_experts_, after_experts_;
  float eps_;
};

}  // namespace foretoken
