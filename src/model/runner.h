#pragma once
// Runner: a loaded language model with its KV store: rows in, features and logits out. As the
// target it is what the step sees; as a draft model (STANDALONE) it drafts for a larger one with
// the same vocabulary and reads tokens only. Its KV is indexed by page ids that all models share.
// Not a scheduler, not a sampler; it does not know which rows are drafts. Engine thread only.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "backend/ops.h"
#include "kv/kv_store.h"
#include "model/decoder/decoder.h"
#include "model/decoder/forward_memory.h"
#include "model/draft_model.h"
#include "model/target_model.h"

namespace foretoken {

// What layers that keep a state have room for.
struct StateRoom {
  int slots = 1;
  int tree_nodes = kMaxTreeNodes;
  int snapshots = 0;  // for the prefix cache
};

class Runner final : public TargetModel, public DraftModel {
 public:
  // A target for so many sequences at a time. The decoder and ops outlive the runner.
  Runner(Ops& ops, const Decoder& decoder, int num_pages, StateRoom room = {});
  // A draft model for a target of so many tokens: paddings of the two vocabularies may differ.
  Runner(Ops& ops, std::unique_ptr<const Decoder> decoder, std::int64_t target_vocab);

  Features forward(const Batch& batch, const FeatureTaps& taps) override;
  Tensor logits(const Features& features, const Batch& batch) override;
  std::span<const KvLayer> kv_layers() const override { return kv_->layers(); }

  DraftRows forward(Batch& batch, const DraftInput& input) override;
  Tensor logits(Tensor hidden) override;
  void allocate_kv(int num_pages) override;
  KvShape kv_shape() const override { return decoder_.kv_shape(); }
  std::size_t weight_bytes() const override { return decoder_.weight_bytes(); }
  std::size_t forward_bytes(std::int64_t rows) const override {
    return decoder_bytes(decoder_.config(), rows, 0);
  }
  ForwardSize forward_size(std::int64_t rows) const override {
    return decoder_size(decoder_.config(), rows);
  }
  std::int64_t hidden_width() const override { return decoder_.config().hidden; }
  std::int64_t logit_width() const override { return decoder_.config().vocab; }
  Token target_token(Token draft) const override {
    return draft < target_vocab_ ? draft : kNoToken;
  }

  std::int64_t vocab() const override { return decoder_.config().vocab; }
  bool keeps_states() const override { return !decoder_.config().recurrent.layers.empty(); }
  int state_snapshots() const override { return snapshots_; }
  const Decoder& decoder() const { return decoder_; }

 private:
  Ops& ops_;
  std::unique_ptr<const Decoder> owned_;
  const Decoder& decoder_;
  std::int64_t target_vocab_;
  int snapshots_ = 0;
  std::optional<KvStore> kv_;
};

}  // namespace foretoken
