#pragma once
// Runner: a loaded model with its KV store, as the step sees it: rows in, features and logits out.
// Not a scheduler, not a sampler; it does not know which rows are drafts. Engine thread only.

#include <cstdint>
#include <span>

#include "backend/ops.h"
#include "kv/kv_store.h"
#include "model/decoder.h"
#include "model/target_model.h"

namespace foretoken {

class Runner final : public TargetModel {
 public:
  // The decoder and ops outlive the runner.
  Runner(Ops& ops, const Decoder& decoder, int num_pages);

  Features forward(const Batch& batch, const FeatureTaps& taps) override;
  Tensor logits(const Features& features, const Batch& batch) override;

  std::span<const KvLayer> kv_layers() const override { return kv_.layers(); }
  std::int64_t vocab() const override { return decoder_.config().vocab; }
  const Decoder& decoder() const { return decoder_; }

 private:
  Ops& ops_;
  const Decoder& decoder_;
  KvStore kv_;
};

}  // namespace foretoken
