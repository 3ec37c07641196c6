#pragma once
// QueryHead: a draft model of a few layers that make queries only: their keys and values are those
// of the target's last layers, each of the last one of its kind (with a window, or without). So it
// stores nothing, reads no text but the root, and every row, at whatever depth, stands at the root's
// position and sees what the target has committed.
//
//   target's embedding of x[n] | feature f[n - 1] --> pre_projection --> layers --> norm --> logits
//                                                                               --> post_projection
//   below the root: the drafted token, and what post_projection made of the row above

#include <memory>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "checkpoint/checkpoint.h"
#include "kv/kv_store.h"
#include "model/config/quantization.h"
#include "model/draft_model.h"

namespace foretoken {

struct LayerScratch;

struct QueryHeadConfig {
  ModelConfig layer;  // layer_kv: the target's layer whose keys and values are read, plus `layers`
  int target_hidden = 0;
};

// Whether the config in a folder is that of such a head.
bool is_query_head(const std::string& folder);

// Throws Error naming what does not fit, the target included.
QueryHeadConfig read_query_head(const std::string& folder, const ModelConfig& target);

class QueryHead final : public DraftModel {
 public:
  // The target outlives the head. Throws Error naming the tensor that is missing or misshapen.
  QueryHead(Ops& ops, const QueryHeadConfig& config, const WeightSource& weights,
            const Decoder& target, const Quantization& quantization = {});
  ~QueryHead() override;

  FeatureTaps taps() const override { return {.last_hidden = true, .layer_inputs = {}}; }
  std::int64_t tap_width() const override { return config_.target_hidden; }
  int feature_width() const override { return config_.target_hidden; }
  bool reads_target_kv() const override { return true; }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override;
  std::size_t feature_bytes(std::int64_t rows) const override;
  std::size_t forward_bytes(std::int64_t rows) const override;
  ForwardSize forward_size(std::int64_t rows) const override;
  std::int64_t hidden_width() const override { return config_.layer.hidden; }
  std::int64_t logit_width() const override { return config_.layer.vocab; }
  void allocate_kv(int) override {}
  KvShape kv_shape() const override;
  std::size_t weight_bytes() const override;
  std::int64_t vocab() const override { return config_.layer.vocab; }
  DraftRows forward(Batch& batch, const DraftInput& input) override;
  Tensor logits(Tensor hidden) override;

 private:
  struct Weights;
  void look_back(const Batch& batch, const DraftInput& input);
  void join(const DraftInput& input, Tensor out);
  void run_layers(LayerScratch& scratch);

  Ops& ops_;
  const QueryHeadConfig config_;
  const Decoder& target_;
  std::unique_ptr<Weights> weights_;
  const KvStore* kv_ = nullptr;     // the target's, of its last forward
  Batch looks_;                     // the rows that are computed, each a sequence of its own
  std::vector<std::int32_t> rows_;  // where they are in the caller's batch
};

}  // namespace foretoken
