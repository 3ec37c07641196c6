#include "model/heads/query_head.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/index.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/forward_memory.h"
#include "model/decoder/rope.h"

namespace foretoken {

struct QueryHead::Weights {
  std::unique_ptr<PackedLinear> before, after, head;
  std::vector<Tensor> input_norms;
  std::vector<DecoderLayer> layers;
  Tensor final_norm;
  RopeTables ropes;
  std::size_t bytes = 0;
};

QueryHead::QueryHead(Ops& ops, const QueryHeadConfig& config, const WeightSource& source,
                     const Decoder& target, const Quantization& quantization)
    : ops_(ops), config_(config), target_(target), weights_(std::make_unique<Weights>()) {
  const ModelConfig& c = config.layer;
  Weights& w = *weights_;
  WeightReader read(ops, source, target.dtype(), quantization, c.stored_quantization);
  const std::int64_t hidden = c.hidden, wide = config.target_hidden;
  w.before = read.linear({{"pre_projection", hidden}}, 2 * wide, Bias::kNone);
  w.after = read.linear({{"post_projection", wide}}, hidden, Bias::kNone);
  for (int i = 0; i < c.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    w.input_norms.push_back(
        read.vector(prefix + c.norms.before_attention + ".weight", hidden, c.norm_offset));
    w.layers.emplace_back(read, c, prefix, hidden, i);
  }
  w.final_norm = read.vector("model.norm.weight", hidden, c.norm_offset);
  const char* const output = c.tied_embeddings ? "model.embed_tokens" : "lm_head";
  w.head = read.linear({{output, c.vocab}}, hidden, Bias::kNone, MatrixRole::kHead);
  // Copies of the output matrix, and what finds a part of the vocabulary that is worth computing.
  for (const char* unread : {"model.embed_tokens.", "lm_head.", "masked_embedding."})
    read.skip_under(unread);
  read.finish();
  w.ropes = RopeTables(ops, c);
  w.bytes = read.packed_bytes() + w.ropes.bytes();
}

QueryHead::~QueryHead() = default;

std::size_t QueryHead::weight_bytes() const { return weights_->bytes; }

KvShape QueryHead::kv_shape() const {
  KvShape none = target_.kv_shape();
  none.layers = 0;
  none.keeps_state.clear();
  return none;
}

Tensor QueryHead::features(const Features& target, std::span<const std::int32_t> rows) {
  if (target.kv != nullptr) kv_ = target.kv;
  const Tensor out = ops_.temp(
      DType::kF32, {static_cast<std::int64_t>(rows.size()), std::int64_t{config_.target_hidden}});
  ops_.gather_rows(target.last_hidden, rows, out);
  return out;
}

std::size_t QueryHead::feature_bytes(std::int64_t rows) const {
  return rows_bytes(rows, config_.target_hidden);
}

// The embedding, the feature, both side by side, and what the next level reads.
std::size_t QueryHead::forward_bytes(std::int64_t rows) const {
  return layer_bytes(config_.layer, rows) +
         rows_bytes(rows, 5 * std::int64_t{config_.target_hidden}, 4);
}

ForwardSize QueryHead::forward_size(std::int64_t rows) const {
  ForwardSize size = decoder_size(config_.layer, rows);
  size.widest_input = std::max<std::int64_t>(size.widest_input, 2 * config_.target_hidden);
  return size;
}

// Of text only the roots count. A row is laid out as the last of the committed tokens, whose keys
// are there already, so that it sees these and nothing behind them; it is rotated as the root.
void QueryHead::look_back(const Batch& batch, const DraftInput& input) {
  const bool is_text = input.depth == 0;
  rows_ = batch.logit_rows;
  if (!is_text) {
    rows_.resize(at(batch.rows));
    std::iota(rows_.begin(), rows_.end(), 0);
  }
  looks_.clear();
  looks_.pages = batch.pages;
  for (const std::int32_t row : rows_) {
    BatchSeq seq = batch.seqs[at(batch.seq[at(row)])];
    const std::int32_t root = is_text ? seq.base + row - seq.first_row : seq.base - 1;
    CHECK(root > 0) << "a root without text before it";
    // A row of text stands at the position of its feature, those below it one further on each.
    const std::int32_t position = batch.position[at(row)] + 1 - input.depth;
    seq.first_row = looks_.rows;
    seq.rows = seq.chain = 1;
    seq.base = root - 1;
    seq.is_chain = true;
    seq.first_slot = 0;
    looks_.seq.push_back(static_cast<std::int32_t>(looks_.seqs.size()));
    looks_.seqs.push_back(seq);
    looks_.token.push_back(batch.token[at(row)]);
    looks_.position.push_back(position);
    looks_.kv_slot.push_back(-1);
    looks_.mask.push_back(0);
    ++looks_.rows;
  }
}

// What enters the first layer, [rows, hidden].
void QueryHead::join(const DraftInput& input, Tensor out) {
  const std::int64_t rows = looks_.rows, wide = config_.target_hidden;
  const ScratchScope between(ops_);
  const Tensor embedded = ops_.temp(DType::kF32, {rows, wide});
  const Tensor feature = ops_.temp(DType::kF32, {rows, wide});
  const Tensor both = ops_.temp(DType::kF32, {rows, 2 * wide});
  target_.embed(ops_, looks_.token, embedded);
  ops_.gather_rows(input.features, rows_, feature);
  ops_.join_columns(embedded, feature, both);
  ops_.linear(*weights_->before, both, out);
}

DraftRows QueryHead::forward(Batch& batch, const DraftInput& input) {
  look_back(batch, input);
  weights_->ropes.reach(looks_);
  LayerScratch s(ops_, config_.layer, looks_);
  const Tensor feature = ops_.temp(DType::kF32, {looks_.rows, std::int64_t{config_.target_hidden}});
  if (looks_.rows > 0) {
    CHECK(kv_ != nullptr) << "no forward of the target";
    join(input, s.residual);
    run_layers(s);
    ops_.linear(*weights_->after, s.normed, feature);
  }
  return {.hidden = s.normed, .feature = feature, .rows = rows_};
}

void QueryHead::run_layers(LayerScratch& s) {
  const Weights& w = *weights_;
  const float eps = config_.layer.rms_eps;
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    if (i == 0)
      ops_.norm(s.residual, w.input_norms[i], eps, s.normed);
    else
      ops_.add_norm(s.residual, s.delta, w.input_norms[i], eps, s.normed);
    const int source = config_.layer.kv_of(static_cast<int>(i)) - config_.layer.layers;
    w.layers[i].forward(s.normed, w.ropes, kv_->layer(source), s);
  }
  ops_.add_norm(s.residual, s.delta, w.final_norm, eps, s.normed);
}

Tensor QueryHead::logits(Tensor hidden) {
  const Tensor out = ops_.temp(DType::kF32, {hidden.dim(0), config_.layer.vocab});
  ops_.linear(*weights_->head, hidden, out);
  return out;
}

}  // namespace foretoken
