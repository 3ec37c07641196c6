#pragma once
// HeadDraft: a draft head: few decoder layers, mostly one, that read the embedding of a token
// joined with the target's feature of the token before it. Its HeadConfig says of which family.
// Embedding and, where the head has none of its own, the output matrix are the target's. Slot p
// holds the pair (x[p], f[p - 1]) with the rotary position p - 1; slot 0 holds nothing.

#include <memory>
#include <optional>
#include <vector>

#include "backend/ops.h"
#include "checkpoint/checkpoint.h"
#include "kv/kv_store.h"
#include "model/draft_model.h"
#include "model/heads/draft_output.h"
#include "model/heads/head_config.h"
#include "model/heads/head_memory.h"

namespace foretoken {

class WeightReader;

class HeadDraft final : public DraftModel {
 public:
  // drafted: the tokens that are proposed; nothing: all. A head with a vocabulary of its own has
  // chosen already. The target outlives the head. Throws Error naming the tensor that is missing or
  // misshapen.
  HeadDraft(Ops& ops, const HeadConfig& config, const WeightSource& weights, const Decoder& target,
            std::optional<DraftedTokens> drafted = {}, const Quantization& quantization = {});
  ~HeadDraft() override;

  FeatureTaps taps() const override { return config_.taps; }
  std::int64_t tap_width() const override { return target_.config().hidden; }
  int feature_width() const override { return config_.layer.hidden; }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override;
  std::size_t feature_bytes(std::int64_t rows) const override {
    return head_feature_bytes(config_, rows);
  }
  std::size_t forward_bytes(std::int64_t rows) const override { return head_bytes(config_, rows); }
  ForwardSize forward_size(std::int64_t rows) const override { return head_size(config_, rows); }
  std::int64_t hidden_width() const override { return config_.layer.hidden; }
  std::int64_t logit_width() const override;
  std::size_t logit_bytes(std::int64_t rows) const override;
  void allocate_kv(int num_pages) override;
  KvShape kv_shape() const override;
  std::size_t weight_bytes() const override;
  std::int64_t vocab() const override { return target_.config().vocab; }
  DraftRows forward(Batch& batch, const DraftInput& input) override;
  Tensor logits(Tensor hidden) override;
  std::span<const Token> target_tokens() const override;
  void see(std::span<const Token> text) override;

 private:
  struct Weights;
  void read_weights(const WeightSource& source);
  void read_head(WeightReader& read, const WeightSource& source);
  void skip_unused(WeightReader& read);
  void read_draft_vocab(const WeightSource& source);
  std::unique_ptr<PackedLinear> pack_output(const Tensor& rows);
  void pack_target_embedding();
  Tensor embed(const Batch& batch);
  Tensor joined_taps(const Features& target, std::span<const std::int32_t> rows);
  Tensor normed(Tensor x, Tensor weight);
  const PackedLinear& output() const;
  Tensor whole_logits(Tensor hidden);
  Tensor join(const Batch& batch, Tensor features, Tensor& residual);
  DraftRows end_with_tail(Tensor in, const KvLayer& kv, LayerScratch& s);
  DraftRows conclude(LayerScratch& s);

  Ops& ops_;
  const HeadConfig config_;
  const Decoder& target_;
  const Quantization quantization_;
  std::unique_ptr<Weights> weights_;
  std::optional<KvStore> kv_;
  std::vector<Token> target_token_;  // by draft id, of a vocabulary of its own; empty: the same ids
  std::optional<DraftOutput> part_;  // of the output matrix; none: all of it
  std::vector<std::int32_t> every_row_;
};

}  // namespace foretoken
