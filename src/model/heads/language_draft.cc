#include "model/heads/language_draft.h"

#include <numeric>
#include <utility>

#include "base/index.h"
#include "model/decoder/logits.h"

namespace foretoken {
namespace {

// By id of the draft model; empty: the target has all of them.
std::vector<Token> tokens_of_target(std::int64_t vocab, std::int64_t target_vocab) {
  if (vocab <= target_vocab) return {};
  std::vector<Token> tokens(at(vocab), kNoToken);
  std::iota(tokens.begin(), tokens.begin() + target_vocab, 0);
  return tokens;
}

}  // namespace

LanguageDraft::LanguageDraft(Ops& ops, std::unique_ptr<const Decoder> decoder,
                             std::int64_t target_vocab, std::optional<DraftedTokens> drafted,
                             const WeightFormat& output)
    : ops_(ops), decoder_(std::move(decoder)) {
  if (drafted)
    part_.emplace(ops_, decoder_->head(), decoder_->dtype(), output, std::move(*drafted));
  else
    target_tokens_ = tokens_of_target(decoder_->config().vocab, target_vocab);
}

DraftRows LanguageDraft::forward(Batch& batch, const DraftInput& input) {
  const FeatureTaps taps{.last_hidden = !input.reads_logit_rows, .layer_inputs = {}};
  Features features = decoder_->forward(ops_, batch, *kv_, taps);
  return {.hidden = features.last_hidden, .feature = {}, .rows = std::move(features.last_rows)};
}

Tensor LanguageDraft::logits(Tensor hidden) {
  if (!part_) return decoder_->logits(ops_, hidden);
  const Tensor out = part_->logits(ops_, hidden);
  finish_logits(ops_, decoder_->config(), out);
  return out;
}

std::span<const Token> LanguageDraft::target_tokens() const {
  return part_ ? part_->tokens() : target_tokens_;
}

void LanguageDraft::see(std::span<const Token> text) {
  if (part_) part_->see(text);
}

void LanguageDraft::allocate_kv(int num_pages) {
  kv_.emplace(ops_, decoder_->kv_shape(), num_pages);
}

std::size_t LanguageDraft::weight_bytes() const {
  return decoder_->weight_bytes() + (part_ ? part_->bytes() : 0);
}

std::int64_t LanguageDraft::logit_width() const {
  return part_ ? part_->most_columns() : decoder_->config().vocab;
}

std::size_t LanguageDraft::logit_bytes(std::int64_t rows) const {
  return part_ ? part_->logit_bytes(rows) : DraftModel::logit_bytes(rows);
}

}  // namespace foretoken
