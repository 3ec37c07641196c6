#pragma once
// TargetModel: what the step needs from a model: rows in, features and logits out. Runner
// implements it with a checkpoint; tests of the scheduler implement it with a hash of each row's
// context. Not a sampler: it does not know which rows are drafts. Engine thread only.

#include <cstdint>
#include <span>

#include "backend/kv_shape.h"
#include "model/decoder/decoder.h"

namespace foretoken {

class TargetModel {
 public:
  virtual ~TargetModel() = default;

  // Computes all rows of the batch and stores their KV. Result views live until the next
  // StepOps::layout.
  virtual Features forward(const Batch& batch, const FeatureTaps& taps) = 0;

  // Logits [batch.logit_rows.size(), vocab] f32; no rows, no work.
  virtual Tensor logits(const Features& features, const Batch& batch) = 0;

  virtual std::span<const KvLayer> kv_layers() const = 0;
  virtual std::int64_t vocab() const = 0;
  // Whether layers keep a state of the text: it may go on from the pages of another one that begins
  // alike only where a state of that one was kept.
  virtual bool keeps_states() const { return false; }
  virtual int state_snapshots() const { return 0; }  // that there is memory for
};

}  // namespace foretoken
