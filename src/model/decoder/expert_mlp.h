#pragma once
// ExpertMlp: a mixture of experts: the sum of some gated MLPs, which a router chooses for each row,
// and of one that every row uses, where the model has it. Immutable after construction.
//
//   in -- router --> logits --> experts and weights --+
//   in [ * logistic of the logit ] -- mix_experts ----+--> out
//   in -- shared expert -- [its gate] ----------------+

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/decoder/gated_mlp.h"
#include "model/decoder/mlp.h"

namespace foretoken {

class ExpertMlp final : public Mlp {
 public:
  // prefix: of the layer's tensors, with the dot.
  ExpertMlp(WeightReader& read, const ModelConfig& config, const std::string& prefix);

  void forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const override;
  std::size_t expert_bytes() const override;

  // Bytes that forward() asks StepOps::temp for, with `rows` rows.
  static std::size_t temp_bytes(const ModelConfig& config, std::int64_t rows);

 private:
  Tensor router_input(StepOps& ops, Tensor in, Tensor stream) const;
  Tensor shared_part(StepOps& ops, Tensor in) const;
  void weigh_input(StepOps& ops, Tensor logits, Tensor in) const;

  Routing routing_;
  Activation act_;
  std::unique_ptr<PackedLinear> router_;
  Tensor router_norm_;  // of the stream, which the router then reads; empty: it reads the input
  RouterVectors vectors_;
  float eps_;
  bool weighs_inputs_;
  std::vector<std::unique_ptr<PackedLinear>> weights_;
  std::vector<ExpertLinears> experts_;
  std::optional<GatedMlp> shared_;
  std::unique_ptr<PackedLinear> shared_gate_;
};

}  // namespace foretoken
