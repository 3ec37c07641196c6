#pragma once
// LatentAttention: the attention block of layers that keep one latent of a token, of which keys and
// values of all heads are made (LatentBlocks). Keys and values are never made: the matrices that
// would make them are absorbed by queries and results,
//
//   query . (K latent) = (K^T query) . latent        sum of p (V latent) = V (sum of p latent)
//
// so that all heads attend one KV head, whose key is latent | rotated part and whose value is the
// latent. Prompts, decoding and trees alike. Immutable after construction.

#include <memory>
#include <string>
#include <vector>

#include "model/decoder/attention_block.h"

namespace foretoken {

class LatentAttention final : public AttentionBlock {
 public:
  // As make_attention.
  LatentAttention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                  std::int64_t in_width);

  std::int64_t query_width() const override { return std::int64_t{shape_.heads} * shape_.head_dim; }
  void project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
               LayerScratch& scratch) const override;
  void attend(const KvLayer& kv, LayerScratch& scratch) const override;

 private:
  void read_heads(WeightReader& read, const std::string& name);
  void read_turned_heads(WeightReader& read, const std::string& name);
  Tensor queries(Tensor in, LayerScratch& scratch) const;

  LatentBlocks blocks_;
  AttentionShape shape_;
  std::unique_ptr<PackedLinear> q_a_;  // null: queries are made of the input itself
  Tensor q_norm_;
  std::unique_ptr<PackedLinear> q_;     // of all heads, [query | part that rotates] each
  std::unique_ptr<PackedLinear> kv_a_;  // latent | part that rotates
  Tensor kv_norm_;
  std::vector<std::unique_ptr<PackedLinear>> keys_;    // of each head K^T [kv_rank, key_dim]
  std::vector<std::unique_ptr<PackedLinear>> values_;  // of each head V [value_dim, kv_rank]
  std::unique_ptr<PackedLinear> o_;
};

}  // namespace foretoken
