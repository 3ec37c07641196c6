#pragma once
// Runner: a loaded language model with its KV store, as the target that the step sees: rows in,
// features and logits out. Its KV is indexed by page ids that all models share. Not a scheduler, not
// a sampler; it does not know which rows are drafts. Engine thread only.

#include <cstdint>
#include <span>

#include "backend/ops.h"
#include "kv/kv_store.h"
#include "model/decoder/decoder.h"
#include "model/target_model.h"

namespace foretoken {

// What layers that keep a state have room for.
struct StateRoom {
  int slots = 1;
  int tree_nodes = kMaxTreeNodes;
  int snapshots = 0;  // for the prefix cache
};

class Runner final : public TargetModel {
 public:
  // A target for so many sequences at a time. The decoder and ops outlive the runner.
  Runner(Ops& ops, const Decoder& decoder, int num_pages, StateRoom room = {});

  Features forward(const Batch& batch, const FeatureTaps& taps) override;
  Tensor logits(const Features& features, const Batch& batch) override;
  std::span<const KvLayer> kv_layers() const override { return kv_.layers(); }

  std::int64_t vocab() const override { return decoder_.config().vocab; }
  bool keeps_states() const override { return !decoder_.config().recurrent.layers.empty(); }
  int state_snapshots() const override { return snapshots_; }
  const Decoder& decoder() const { return decoder_; }

 private:
  Tensor logits(Tensor hidden);

  Ops& ops_;
  const Decoder& decoder_;
  int snapshots_ = 0;
  KvStore kv_;
};

}  // namespace foretoken
