#include "engine/testing/hash_model.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/host/host_step.h"
#include "base/index.h"
#include "base/rng.h"
#include "batch/sampling.h"

namespace foretoken {
namespace {

constexpr std::uint64_t kEmptyText = 17;

std::uint64_t extend(std::uint64_t hash, Token token) {
  return mix_seed(hash, static_cast<std::uint64_t>(token));
}

// Multiples of 1/4 in [0, 8): ties occur.
void hash_logits(std::uint64_t hash, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(mix_seed(hash, i) >> 59) * 0.25F;
}

HiddenState hidden_of(std::uint64_t hash) {
  HiddenState state(2);
  std::memcpy(state.data(), &hash, sizeof hash);
  return state;
}

}  // namespace

HashModel::HashModel(Ops& ops, int num_pages, std::int64_t vocab, int snapshots)
    : ops_(ops),
      vocab_(vocab),
      snapshots_(snapshots),
      layers_(ops.alloc_kv({.layers = 1, .kv_heads = 1, .head_dim = 1, .dtype = DType::kF32},
                           num_pages)) {}

Features HashModel::forward(const Batch& batch, const FeatureTaps&) {
  float* keys = layers_[0].k.f32();
  float* values = layers_[0].v.f32();
  for (std::size_t row = 0; row < batch.token.size(); ++row) {
    if (batch.kv_slot[row] < 0) continue;
    keys[batch.kv_slot[row]] = static_cast<float>(batch.token[row]);
    values[batch.kv_slot[row]] = -static_cast<float>(batch.token[row]);
  }
  Features features{.last_hidden = ops_.temp(DType::kF32, {batch.rows, 2}), .taps = {}};
  std::vector<std::int32_t> slots;
  for (int row = 0; row < batch.rows; ++row) {
    visible_slots(batch, row, slots);
    std::uint64_t hash = kEmptyText;
    for (const std::int32_t slot : slots) {
      CHECK(keys[slot] == -values[slot]) << "key and value of slot " << slot << " parted";
      hash = extend(hash, static_cast<Token>(keys[slot]));
    }
    std::memcpy(features.last_hidden.row_f32(row), &hash, sizeof hash);
  }
  return features;
}

Tensor HashModel::logits(const Features& features, const Batch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.logit_rows.size());
  const Tensor out = ops_.temp(DType::kF32, {rows, vocab_});
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint64_t hash = 0;
    std::memcpy(&hash, features.last_hidden.row_f32(batch.logit_rows[at(i)]), sizeof hash);
    hash_logits(hash, {out.row_f32(i), at(vocab_)});
  }
  return out;
}

HashOracle HashOracle::answer(const Request& request, std::int64_t vocab) {
  HashOracle result;
  std::vector<float> logits(at(vocab));
  const SamplingParams& params = request.sampling;
  TokenCounts counts;
  std::uint64_t hash = kEmptyText;
  int position = 0;
  const auto read = [&](Token token) {
    hash = extend(hash, token);
    if (request.hidden_start >= 0 && position++ >= request.hidden_start)
      result.hidden.push_back(hidden_of(hash));
  };
  for (std::size_t p = 0; p < request.prompt.size(); ++p) {
    const Token token = request.prompt[p];
    if (request.logprob_start >= 0 && static_cast<int>(p) >= request.logprob_start) {
      hash_logits(hash, logits);
      SampledToken unknown;
      unknown.token = token;
      result.prompt_scores.push_back(p == 0 ? unknown : score_token(logits, token, params));
    }
    counts.add_prompt(token);
    read(token);
  }
  const auto constraint = request.constraint ? request.constraint->start() : nullptr;
  for (int n = 0; n < request.max_new_tokens; ++n) {
    hash_logits(hash, logits);
    const auto allowed = constraint ? constraint->allowed() : std::span<const std::uint32_t>();
    if (constraint && !constraint->fault().empty()) break;
    const auto position = static_cast<std::int64_t>(request.prompt.size()) + n;
    result.output.push_back(sample_row(logits, {.params = &params,
                                                .counts = &counts,
                                                .ancestors = {},
                                                .position = position,
                                                .generated = n,
                                                .allowed = allowed}));
    const Token token = result.output.back().token;
    counts.add_output(token);
    read(token);
    if (std::find(params.stop_tokens.begin(), params.stop_tokens.end(), token) !=
        params.stop_tokens.end())
      break;
    if (!constraint) continue;
    constraint->advance(token);
    if (constraint->has_ended()) break;
  }
  if (!result.hidden.empty()) result.hidden.pop_back();  // nothing is computed of the last token
  return result;
}

}  // namespace foretoken
