#include "model/standalone_draft.h"

#include <utility>

namespace foretoken {

StandaloneDraft::StandaloneDraft(Ops& ops, std::unique_ptr<Decoder> decoder,
                                 std::int64_t target_vocab)
    : ops_(ops), decoder_(std::move(decoder)), target_vocab_(target_vocab) {}

void StandaloneDraft::allocate_kv(int num_pages) {
  kv_.emplace(ops_, decoder_->kv_shape(), num_pages);
}

DraftRows StandaloneDraft::forward(const Batch& batch, Tensor) {
  return {.hidden = decoder_->forward(ops_, batch, *kv_, {}).last_hidden, .feature = {}};
}

Tensor StandaloneDraft::logits(Tensor hidden) { return decoder_->logits(ops_, hidden); }

}  // namespace foretoken
