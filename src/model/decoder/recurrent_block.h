#pragma once
// RecurrentBlock: the attention block of a layer that keeps a state: projections, convolution,
// state, gate and norm, output projection. Immutable after construction.

#include <memory>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/attention_block.h"

namespace foretoken {

class RecurrentBlock final : public AttentionBlock {
 public:
  // As make_attention.
  RecurrentBlock(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                 std::int64_t in_width);

  std::int64_t query_width() const override { return blocks_.out_width(); }
  void project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
               LayerScratch& scratch) const override;
  void attend(const KvLayer& kv, LayerScratch& scratch) const override;

  // Bytes of scratch beside LayerScratch.
  static std::size_t temp_bytes(const ModelConfig& config, std::int64_t rows);

 private:
  Tensor product(StepOps& ops, const std::unique_ptr<PackedLinear>& w, Tensor in) const;
  void finish(StepOps& ops, Tensor in, Tensor out) const;

  RecurrentBlocks blocks_;
  std::unique_ptr<PackedLinear> inputs_, out_;
  std::unique_ptr<PackedLinear> input_gate_, gate_, dt_, beta_;  // null: there is none
  RecurrentWeights weights_;
  Tensor norm_;  // empty: there is none
  float eps_;
};

}  // namespace foretoken
