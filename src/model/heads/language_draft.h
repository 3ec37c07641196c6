#pragma once
// LanguageDraft: a language model that drafts for a larger one of the same vocabulary; reads tokens
// only. What it proposes may be a part of the vocabulary (draft_output.h). Paddings of the two
// vocabularies may differ. Engine thread only.

#include <memory>
#include <optional>
#include <vector>

#include "backend/ops.h"
#include "kv/kv_store.h"
#include "model/decoder/decoder.h"
#include "model/decoder/forward_memory.h"
#include "model/draft_model.h"
#include "model/heads/draft_output.h"

namespace foretoken {

class LanguageDraft final : public DraftModel {
 public:
  // target_vocab: tokens of the target. drafted: the tokens that it proposes, of ids that both models
  // have; without a value it proposes all. output: the format of their rows. ops outlive it.
  LanguageDraft(Ops& ops, std::unique_ptr<const Decoder> decoder, std::int64_t target_vocab,
                std::optional<DraftedTokens> drafted = {}, const WeightFormat& output = {});

  DraftRows forward(Batch& batch, const DraftInput& input) override;
  Tensor logits(Tensor hidden) override;
  std::span<const Token> target_tokens() const override;
  void see(std::span<const Token> text) override;

  void allocate_kv(int num_pages) override;
  KvShape kv_shape() const override { return decoder_->kv_shape(); }
  std::size_t weight_bytes() const override;
  std::size_t forward_bytes(std::int64_t rows) const override {
    return decoder_bytes(decoder_->config(), rows, 0);
  }
  std::size_t logit_bytes(std::int64_t rows) const override;
  ForwardSize forward_size(std::int64_t rows) const override {
    return decoder_size(decoder_->config(), rows);
  }
  std::int64_t hidden_width() const override { return decoder_->config().hidden; }
  std::int64_t logit_width() const override;
  std::int64_t vocab() const override { return decoder_->config().vocab; }

 private:
  Ops& ops_;
  const std::unique_ptr<const Decoder> decoder_;
  std::vector<Token> target_tokens_;  // where all are proposed and the target has not all
  std::optional<DraftOutput> part_;
  std::optional<KvStore> kv_;
};

}  // namespace foretoken
