#include "model/standalone_draft.h"

#include <utility>

namespace foretoken {

StandaloneDraft::StandaloneDraft(Ops& ops, std::unique_ptr<Decoder> decoder, int num_pages)
    : ops_(ops), decoder_(std::move(decoder)), kv_(ops, decoder_->kv_shape(), num_pages) {}

DraftRows StandaloneDraft::forward(const Batch& batch, Tensor) {
  return {.hidden = decoder_->forward(ops_, batch, kv_, {}).last_hidden, .feature = {}};
}

Tensor StandaloneDraft::logits(Tensor hidden) { return decoder_->logits(ops_, hidden); }

}  // namespace foretoken
