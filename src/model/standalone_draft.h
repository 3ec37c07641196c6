#pragma once
// StandaloneDraft: an ordinary language model that drafts for a larger one with the same
// vocabulary. It reads tokens only. Owns the decoder and its KV, which is indexed by the target's
// page ids.

#include <memory>
#include <optional>

#include "kv/kv_store.h"
#include "model/draft_model.h"

namespace foretoken {

class StandaloneDraft final : public DraftModel {
 public:
  // target_vocab: paddings of the two models' vocabularies may differ.
  StandaloneDraft(Ops& ops, std::unique_ptr<Decoder> decoder, std::int64_t target_vocab);

  void allocate_kv(int num_pages) override;
  KvShape kv_shape() const override { return decoder_->kv_shape(); }
  std::size_t weight_bytes() const override { return decoder_->weight_bytes(); }
  std::int64_t vocab() const override { return decoder_->config().vocab; }
  DraftRows forward(const Batch& batch, Tensor features) override;
  Tensor logits(Tensor hidden) override;
  Token target_token(Token draft) const override {
    return draft < target_vocab_ ? draft : kNoToken;
  }

 private:
  Ops& ops_;
  std::unique_ptr<Decoder> decoder_;
  std::int64_t target_vocab_;
  std::optional<KvStore> kv_;
};

}  // namespace foretoken
