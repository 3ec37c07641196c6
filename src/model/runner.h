#pragma once
// Runner: a loaded model with its KV store, as the step sees it: rows in, features and logits out.
// Not a scheduler, not a sampler; it does not know which rows are drafts. Engine thread only.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "kv/kv_store.h"
#include "model/decoder.h"

namespace foretoken {

class Runner {
 public:
  // The decoder and ops outlive the runner.
  Runner(Ops& ops, const Decoder& decoder, int num_pages);

  // Computes all rows of the batch and stores their KV. Result views live until the next
  // Ops::layout.
  Features forward(const Batch& batch);

  // Logits [batch.logit_rows.size(), vocab] f32.
  Tensor logits(const Features& features, const Batch& batch);

  std::span<const KvLayer> kv_layers() const { return kv_.layers(); }
  const Decoder& decoder() const { return decoder_; }

 private:
  Ops& ops_;
  const Decoder& decoder_;
  KvStore kv_;
};

}  // namespace foretoken
