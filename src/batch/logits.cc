#include "batch/logits.h"

#include <algorithm>

#include "base/rng.h"
#include "batch/row_loops.h"

namespace foretoken {
namespace {

float* find_logit(std::span<float> logits, Token token) {
  if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) return nullptr;
  return &logits[static_cast<std::size_t>(token)];
}

void penalize(std::span<float> logits, Token token, int output_count,
              const SamplingParams& params) {
  float* x = find_logit(logits, token);
  if (x == nullptr) return;
  const float r = params.repetition_penalty;
  *x = *x > 0.0F ? *x / r : *x * r;
  if (output_count > 0)
    *x -= params.frequency_penalty * static_cast<float>(output_count) + params.presence_penalty;
}

void apply_penalties(std::span<float> logits, const RowContext& row) {
  const auto count_ancestors = [&](Token token) {
    return static_cast<int>(std::count(row.ancestors.begin(), row.ancestors.end(), token));
  };
  if (row.counts != nullptr)
    for (const TokenCounts::Entry& entry : row.counts->entries())
      penalize(logits, entry.token, entry.output_count + count_ancestors(entry.token), *row.params);
  for (std::size_t i = 0; i < row.ancestors.size(); ++i) {
    const Token token = row.ancestors[i];
    const auto before = row.ancestors.first(i);
    const bool done = std::find(before.begin(), before.end(), token) != before.end() ||
                      (row.counts != nullptr && row.counts->find(token) != nullptr);
    if (!done) penalize(logits, token, count_ancestors(token), *row.params);
  }
}

}  // namespace

void apply_mask(std::span<float> logits, std::span<const std::uint32_t> allowed) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::size_t word = i / 32;
    if (word >= allowed.size() || ((allowed[word] >> (i % 32)) & 1U) == 0)
      logits[i] = kMinusInfinity;
  }
}

RowTops adjust_logits(std::span<float> logits, const RowContext& row) {
  const SamplingParams& params = *row.params;
  for (const auto& [token, bias] : params.logit_bias)
    if (float* x = find_logit(logits, token)) *x += bias;
  if (row.generated < params.min_new_tokens)
    for (const Token token : params.stop_tokens)
      if (float* x = find_logit(logits, token)) *x = kMinusInfinity;
  if (params.has_penalties()) apply_penalties(logits, row);
  if (!row.allowed.empty()) apply_mask(logits, row.allowed);
  const bool has_none = params.temperature < kLowestTemperature;
  RowTops tops;
  tops.parts.resize(RowTops::parts_of(logits.size()));
  tops.max = row_loops().scale_and_clean(logits.data(), logits.size(),
                                         has_none ? 1.0F : params.temperature, tops.parts.data());
  return tops;
}

RowTops RowTops::of(std::span<const float> logits) {
  RowTops tops;
  tops.parts.reserve(parts_of(logits.size()));
  for (std::size_t start = 0; start < logits.size(); start += RowLoops::kTop)
    tops.parts.push_back(
        row_loops().max(&logits[start], std::min(RowLoops::kTop, logits.size() - start)));
  tops.max = row_loops().max(tops.parts.data(), tops.parts.size());
  return tops;
}

Cut sampling_cut(std::span<const float> logits, const RowTops& tops, const SamplingParams& params) {
  Cut cut;
  if (params.top_k > 0) cut = cut_top_k(logits, tops, params.top_k);
  cut = cut_top_p(logits, tops, cut, params.top_p);
  return cut_min_p(tops.max, cut, params.min_p);
}

float log_sum_exp(std::span<const float> logits, float max) {
  return log_f32(static_cast<float>(row_loops().sum_exp(logits.data(), logits.size(), max)));
}

}  // namespace foretoken
