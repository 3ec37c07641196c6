#include "model/decoder/decoder_layer.h"

namespace foretoken {

DecoderLayer::DecoderLayer(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                           std::int64_t in_width, int window)
    : attention_(read, config, prefix, in_width, window),
      post_attention_norm_(read.vector(prefix + "post_attention_layernorm.weight", config.hidden)),
      mlp_(read, config, prefix),
      eps_(config.rms_eps) {}

void DecoderLayer::forward(Tensor in, const RopeTable& rope, const KvLayer& kv,
                           LayerScratch& s) const {
  attention_.project(in, rope, kv, s);
  finish(kv, s);
}

void DecoderLayer::forward_tail(Tensor in, const RopeTable& rope, const KvLayer& kv,
                                LayerScratch& s, const BatchTail& tail, LayerScratch& end) const {
  attention_.project(in, rope, kv, s);
  if (tail.rows.empty()) return;
  s.ops.gather_rows(s.q, tail.rows, end.q);
  s.ops.gather_rows(s.residual, tail.rows, end.residual);
  finish(kv, end);
}

void DecoderLayer::finish(const KvLayer& kv, LayerScratch& s) const {
  attention_.attend(kv, s);
  s.ops.add_norm(s.residual, s.delta, post_attention_norm_, eps_, s.normed);
  mlp_.forward(s.ops, s.normed, s.delta);
}

}  // namespace foretoken
