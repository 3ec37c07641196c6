#include "batch/logits.h"

#include <algorithm>

#include "base/rng.h"
#include "batch/lanes.h"

namespace foretoken {
namespace {

constexpr float kLargest = 1e30F;  // x - y and x + noise stay finite

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

// Divides by the temperature and makes every value minus infinity or within +-kLargest.
void scale_and_clean(std::span<float> logits, float temperature) {
  for (float& x : logits) {
    const float scaled = x / temperature;
    const float bounded = scaled < kLargest ? scaled : kLargest;
    const float value = bounded >= -kLargest ? bounded : kMinusInfinity;
    x = scaled == scaled ? value : kMinusInfinity;
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

void adjust_logits(std::span<float> logits, const RowContext& row) {
  const SamplingParams& params = *row.params;
  for (const auto& [token, bias] : params.logit_bias)
    if (float* x = find_logit(logits, token)) *x += bias;
  if (row.generated < params.min_new_tokens)
    for (const Token token : params.stop_tokens)
      if (float* x = find_logit(logits, token)) *x = kMinusInfinity;
  if (params.has_penalties()) apply_penalties(logits, row);
  if (!row.allowed.empty()) apply_mask(logits, row.allowed);
  const bool has_none = params.temperature < kLowestTemperature;
  scale_and_clean(logits, has_none ? 1.0F : params.temperature);
}

Cut sampling_cut(std::span<const float> logits, float max, const SamplingParams& params) {
  Cut cut;
  if (params.top_k > 0) cut = cut_top_k(logits, params.top_k);
  cut = cut_top_p(logits, max, cut, params.top_p);
  return cut_min_p(max, cut, params.min_p);
}

float row_max(std::span<const float> logits) {
  Lanes best;
  best.fill(kMinusInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l)
      best[l] = logits[i + l] > best[l] ? logits[i + l] : best[l];
  for (; i < logits.size(); ++i) best[0] = logits[i] > best[0] ? logits[i] : best[0];
  return max_lanes(best);
}

// Floats in sixteen lanes over 1024 values, then one double: as exact as a sum in double, at the
// speed of floats.
float log_sum_exp(std::span<const float> logits, float max) {
  constexpr std::size_t kBlock = 1024;
  double total = 0.0;
  for (std::size_t start = 0; start < logits.size(); start += kBlock) {
    const auto block = logits.subspan(start, std::min(kBlock, logits.size() - start));
    Lanes sum{};
    std::size_t i = 0;
    for (; i + kLanes <= block.size(); i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) sum[l] += exp_nonpositive(block[i + l] - max);
    for (; i < block.size(); ++i) sum[i % kLanes] += exp_nonpositive(block[i] - max);
    total += static_cast<double>(sum_lanes(sum));
  }
  return log_f32(static_cast<float>(total));
}

}  // namespace foretoken
