#include "model/runner.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace foretoken {
namespace {

// Where these rows are among those that are there; both ascending. Nothing where nothing is listed.
std::vector<std::int32_t> places_of(const std::vector<std::int32_t>& rows,
                                    const std::vector<std::int32_t>& there) {
  std::vector<std::int32_t> places;
  if (there.empty()) return places;
  for (const std::int32_t row : rows)
    places.push_back(
        static_cast<std::int32_t>(std::ranges::lower_bound(there, row) - there.begin()));
  return places;
}

}  // namespace

Runner::Runner(Ops& ops, const Decoder& decoder, int num_pages)
    : ops_(ops), decoder_(decoder), target_vocab_(decoder.config().vocab) {
  allocate_kv(num_pages);
}

Runner::Runner(Ops& ops, std::unique_ptr<const Decoder> decoder, std::int64_t target_vocab)
    : ops_(ops), owned_(std::move(decoder)), decoder_(*owned_), target_vocab_(target_vocab) {}

void Runner::allocate_kv(int num_pages) { kv_.emplace(ops_, decoder_.kv_shape(), num_pages); }

Features Runner::forward(const Batch& batch, const FeatureTaps& taps) {
  return decoder_.forward(ops_, batch, *kv_, taps);
}

DraftRows Runner::forward(Batch& batch, const DraftInput& input) {
  const FeatureTaps taps{.last_hidden = !input.reads_logit_rows, .layer_inputs = {}};
  Features features = forward(batch, taps);
  return {.hidden = features.last_hidden, .feature = {}, .rows = std::move(features.last_rows)};
}

Tensor Runner::logits(const Features& features, const Batch& batch) {
  const auto wanted = static_cast<std::int64_t>(batch.logit_rows.size());
  if (wanted == 0) return ops_.temp(DType::kF32, {0, vocab()});
  if (wanted == features.last_hidden.dim(0)) return logits(features.last_hidden);
  const Tensor rows = ops_.temp(DType::kF32, {wanted, decoder_.config().hidden});
  const std::vector<std::int32_t> places = places_of(batch.logit_rows, features.last_rows);
  ops_.gather_rows(features.last_hidden,
                   places.empty() ? std::span(batch.logit_rows) : std::span(places), rows);
  return logits(rows);
}

Tensor Runner::logits(Tensor hidden) { return decoder_.logits(ops_, hidden); }

}  // namespace foretoken
