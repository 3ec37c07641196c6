#pragma once
// StandaloneDraft: an ordinary language model that drafts for a larger one with the same
// vocabulary. It reads tokens only. Owns the decoder and its KV, which is indexed by the target's
// page ids.

#include <memory>

#include "kv/kv_store.h"
#include "model/draft_model.h"

namespace foretoken {

class StandaloneDraft final : public DraftModel {
 public:
  StandaloneDraft(Ops& ops, std::unique_ptr<Decoder> decoder, int num_pages);

  DraftRows forward(const Batch& batch, Tensor features) override;
  Tensor logits(Tensor hidden) override;

 private:
  Ops& ops_;
  std::unique_ptr<Decoder> decoder_;
  KvStore kv_;
};

}  // namespace foretoken
