#pragma once
// Attention: the attention block of layers with keys and values of their own: projections to
// queries, keys and values, rotation, KV store, attention and output projection. Immutable after
// construction.

#include <memory>
#include <string>
#include <vector>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/attention_block.h"

namespace foretoken {

class Attention final : public AttentionBlock {
 public:
  // As make_attention.
  Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
            std::int64_t in_width, int layer);

  std::int64_t query_width() const override { return std::int64_t{shape_.heads} * shape_.head_dim; }
  void project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
               LayerScratch& scratch) const override;
  void attend(const KvLayer& kv, LayerScratch& scratch) const override;

 private:
  // q | k | v, in one or in several stacks: without v where values are keys, q alone where both are
  // another layer's.
  std::vector<std::unique_ptr<PackedLinear>> qkv_;
  Tensor queries(const LayerScratch& scratch) const { return scratch.queries(query_width()); }
  // What is done to them behind the rotation.
  void finish_queries(LayerScratch& scratch) const;
  // Scores grow with the query's position (blocks.h).
  void grow(LayerScratch& scratch) const;
  Tensor stacks(Tensor in, LayerScratch& scratch) const;
  Tensor with_values(Tensor before, Tensor values, LayerScratch& scratch) const;

  QkNorm qk_norm_;
  Tensor norm_behind_;               // of rotated queries, [heads, head_dim]; empty: there is none
  std::vector<Tensor> whole_norms_;  // of all of q and all of k; empty: there are none
  std::vector<float> growth_;        // by (position + growth_offset_) / growth_length_
  std::int64_t growth_length_ = 0;   // 0: scores do not grow
  std::int64_t growth_offset_ = 0;
  std::unique_ptr<PackedLinear> gate_;  // null: there is none
  std::unique_ptr<PackedLinear> o_;
  AttentionShape shape_, stored_;  // stored_: of what project() stores
  Tensor v_norm_;                  // [head_dim] of ones; empty: there is none
  bool has_values_;
  Tensor sinks_;  // empty: there are none
  LayerRope rope_;
  float eps_;
};

}  // namespace foretoken
