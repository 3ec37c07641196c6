#pragma once
// HashModel: a target model for tests of the engine. Its "KV" is the token itself, and a row's
// logits are a hash of all tokens the row can see through pages, chain and tree. One wrong page,
// one wrong mask bit, one token kept in the wrong slot, and the text changes. HashOracle computes
// the same text without engine, pages or batches.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "engine/request.h"
#include "model/target_model.h"

namespace foretoken {

class HashModel final : public TargetModel {
 public:
  // snapshots: it says that its layers keep a state, and that there is memory for so many of texts;
  // none: it does not.
  HashModel(Ops& ops, int num_pages, std::int64_t vocab, int snapshots = 0);

  Features forward(const Batch& batch, const FeatureTaps& taps) override;
  Tensor logits(const Features& features, const Batch& batch) override;
  std::span<const KvLayer> kv_layers() const override { return layers_; }
  std::int64_t vocab() const override { return vocab_; }
  bool keeps_states() const override { return snapshots_ > 0; }
  int state_snapshots() const override { return snapshots_; }

 private:
  Ops& ops_;
  std::int64_t vocab_;
  int snapshots_;
  std::vector<KvLayer> layers_;
};

// What a request must produce: output tokens, the logprobs of its prompt from logprob_start on, and
// hidden states from hidden_start on.
struct HashOracle {
  std::vector<SampledToken> output;
  std::vector<SampledToken> prompt_scores;
  std::vector<HiddenState> hidden;
  static HashOracle answer(const Request& request, std::int64_t vocab);
};

}  // namespace foretoken
