#include "batch/draws.h"

#include <algorithm>
#include <array>

#include "base/rng.h"
#include "batch/gumbel.h"
#include "batch/logits.h"

namespace foretoken {
namespace {

// The log of the sum of e^(x - max) over what the cut keeps.
float log_kept_weight(std::span<const float> logits, float max, const Cut& cut) {
  if (cut.x == kMinusInfinity) return log_sum_exp(logits, max);
  float sum = 0.0F;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] >= cut.x && cut.keeps(logits[i], static_cast<Token>(i)))
      sum += exp_nonpositive(logits[i] - max);
  return log_f32(sum);
}

// The greatest values, ties to the lower id. Few blocks hold anything above the last of them.
std::size_t find_greatest(std::span<const float> logits, const RowTops& tops, const Cut& cut,
                          std::span<NoisyToken> out) {
  std::size_t count = 0;
  for (std::size_t part = 0; part < tops.parts.size(); ++part) {
    const float top = tops.parts[part];
    if (top < cut.x || (count == out.size() && top <= out.back().value)) continue;
    const std::size_t start = part * RowLoops::kTop;
    const auto block = logits.subspan(start, std::min(RowLoops::kTop, logits.size() - start));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const NoisyToken found{static_cast<Token>(start + i), block[i]};
      if (found.value == kMinusInfinity || !cut.keeps(found.value, found.token)) continue;
      if (count == out.size() && found.value <= out.back().value) continue;
      if (count < out.size()) ++count;
      std::size_t place = count - 1;
      for (; place > 0 && found.value > out[place - 1].value; --place) out[place] = out[place - 1];
      out[place] = found;
    }
  }
  return count;
}

// One row whose logits are adjusted and filtered.
class Row {
 public:
  Row(std::span<float> logits, const RowContext& context, const RowTops& tops)
      : logits_(logits),
        context_(context),
        tops_(tops),
        is_greedy_(is_greedy(*context.params)),
        cut_(is_greedy_ ? Cut{} : sampling_cut(logits, tops, *context.params)),
        best_(find_best(logits, tops)),
        log_weight_(tops.max + log_kept_weight(logits, tops.max, cut_)) {}

  // With a share between 0 and 1 the last of all.
  void find(float noise_share, std::span<Drawable> out) {
    std::array<NoisyToken, kMost> tokens;
    const auto found = std::span(tokens).first(std::min(out.size(), tokens.size()));
    const std::size_t count = noise_share < kLeastShare || is_greedy_
                                  ? find_greatest(logits_, tops_, cut_, found)
                                  : find_noisy(noise_share, found);
    for (std::size_t i = 0; i < count; ++i) out[i] = candidate(found[i].token);
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr float kLeastShare = 0.01F;

  // Instead of noise that counts less, logits that count more.
  std::size_t find_noisy(float noise_share, std::span<NoisyToken> out) {
    const SamplingParams& params = *context_.params;
    if (noise_share == 1.0F)
      return gumbel_top(logits_, tops_, cut_, best_, params.seed, context_.position, kDrawReach,
                        out);
    scale_ = 1.0F / noise_share;
    for (float& x : logits_)
      x = cut_.keeps(x, static_cast<Token>(&x - logits_.data())) ? x * scale_ : kMinusInfinity;
    return gumbel_top(logits_, RowTops::of(logits_), {}, best_, params.seed, context_.position,
                      kDrawReach * scale_, out);
  }
  Drawable candidate(Token token) const {
    return {token, logits_[static_cast<std::size_t>(token)] / scale_ - log_weight_,
            is_greedy_ ? 0.0F : gumbel_noise(context_.params->seed, context_.position, token)};
  }

  const std::span<float> logits_;
  const RowContext& context_;
  const RowTops& tops_;
  const bool is_greedy_;
  const Cut cut_;
  const Token best_;
  const float log_weight_;
  float scale_ = 1.0F;  // that logits have been multiplied by
};

}  // namespace

void draw_candidates(std::span<float> logits, const RowContext& context, float noise_share,
                     std::span<Drawable> found, std::span<Drawable> judged) {
  std::ranges::fill(found, Drawable{});
  std::ranges::fill(judged, Drawable{});
  const RowTops tops = adjust_logits(logits, context);
  if (tops.max == kMinusInfinity) return;
  Row row(logits, context, tops);
  const std::size_t half = judged.size() / 2;
  if (half > 0) row.find(0.0F, judged.first(half));
  if (half > 0) row.find(1.0F, judged.subspan(half));
  row.find(noise_share, found);
}

}  // namespace foretoken
