#pragma once
// SimulatedAcceptance: a target that seems to agree with its drafts as often as it is told, so that
// speed can be measured at an accept length that no drafter at hand reaches. It bends the logits
// and touches nothing else: sampling, the walk and the engine do not know. The texts are WRONG, on
// purpose. Not for serving. Engine thread only.

#include <cstdint>
#include <vector>

#include "backend/ops/step_ops.h"
#include "model/target_model.h"

namespace foretoken {

struct AcceptanceSimulation {
  // How the tokens of a step (the bonus included) are drawn around the length.
  enum class Method : std::uint8_t {
    kMatchExpected,  // the integers below and above it, such that the mean is exact
    kMultinomial,    // normal with standard deviation 1, rounded, at least 1
  };
  double length = 0;  // tokens per step and sequence; 0: nothing is simulated
  Method method = Method::kMatchExpected;

  // Tokens of one step, at least 1; `draw` numbers the steps of all sequences.
  int tokens(std::uint64_t draw) const;
  // The probability that at least this many drafts of a step are accepted.
  double chance(int drafts) const;
};

class SimulatedAcceptance final : public TargetModel {
 public:
  // Both outlive it.
  SimulatedAcceptance(StepOps& ops, TargetModel& target, AcceptanceSimulation simulation)
      : ops_(ops), target_(target), simulation_(simulation) {}

  Features forward(const Batch& batch, const FeatureTaps& taps) override {
    return target_.forward(batch, taps);
  }
  // Trees without drafts keep their logits. Where a tree is too shallow, all of its longest path is
  // accepted. Stop tokens still end a text.
  Tensor logits(const Features& features, const Batch& batch) override;
  std::span<const KvLayer> kv_layers() const override { return target_.kv_layers(); }
  std::int64_t vocab() const override { return target_.vocab(); }
  bool keeps_states() const override { return target_.keeps_states(); }
  int state_snapshots() const override { return target_.state_snapshots(); }

 private:
  void bend(const Batch& batch, const BatchSeq& seq, std::int32_t root_logits);

  StepOps& ops_;
  TargetModel& target_;
  AcceptanceSimulation simulation_;
  std::vector<Addend> addends_;  // to the logits of a step
  std::uint64_t draws_ = 0;
};

}  // namespace foretoken
