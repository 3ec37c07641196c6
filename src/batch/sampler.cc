#include <algorithm>

#include "batch/filters.h"
#include "batch/gumbel.h"
#include "batch/logits.h"
#include "batch/sampling.h"

namespace foretoken {
namespace {

// Log-softmax of one row, asked for single tokens.
class LogProbs {
 public:
  LogProbs(std::span<const float> logits, const RowTops& tops)
      : logits_(logits), tops_(tops), log_sum_(log_sum_exp(logits, tops.max)) {}

  float of(Token token) const {
    if (token < 0 || static_cast<std::size_t>(token) >= logits_.size()) return kNoChance;
    return std::max(kNoChance, logits_[static_cast<std::size_t>(token)] - tops_.max - log_sum_);
  }

  std::vector<TopLogprob> top(int count) const {
    std::vector<TopLogprob> best;
    if (count <= 0) return best;
    const Cut cut = cut_top_k(logits_, tops_, count);
    for (std::size_t part = 0; part < tops_.parts.size(); ++part) {
      if (tops_.parts[part] < cut.x) continue;
      const std::size_t start = part * RowLoops::kTop;
      for (std::size_t i = start; i < std::min(start + RowLoops::kTop, logits_.size()); ++i) {
        const auto id = static_cast<Token>(i);
        if (cut.keeps(logits_[i], id)) best.push_back({id, of(id)});
      }
    }
    std::stable_sort(best.begin(), best.end(), [this](const TopLogprob& a, const TopLogprob& b) {
      return logits_[static_cast<std::size_t>(a.token)] >
             logits_[static_cast<std::size_t>(b.token)];
    });
    return best;
  }

 private:
  std::span<const float> logits_;
  const RowTops& tops_;
  float log_sum_;
};

void report(SampledToken& out, std::span<const float> logits, const RowTops& tops,
            const SamplingParams& params) {
  const LogProbs logprobs(logits, tops);
  out.logprob = logprobs.of(out.token);
  out.top = logprobs.top(params.top_logprobs);
  out.token_logprobs.reserve(params.logprob_tokens.size());
  for (const Token token : params.logprob_tokens) out.token_logprobs.push_back(logprobs.of(token));
}

// A row without a single possible token. It is the model's doing unless a mask and the bar of stop
// tokens have left none: then the sequence must go on.
SampledToken lowest_allowed(const RowContext& row) {
  SampledToken out;
  out.token = 0;
  out.is_void = row.allowed.empty();
  if (row.generated >= row.params->min_new_tokens)
    out.is_void |= std::ranges::any_of(row.allowed, [](std::uint32_t bits) { return bits != 0; });
  for (std::size_t word = 0; word < row.allowed.size(); ++word)
    if (row.allowed[word] != 0) {
      out.token = static_cast<Token>(word) * 32 + std::countr_zero(row.allowed[word]);
      break;
    }
  if (row.params->wants_logprobs()) {
    out.logprob = kNoChance;
    out.token_logprobs.assign(row.params->logprob_tokens.size(), kNoChance);
  }
  return out;
}

SampledToken draw(std::span<const float> logits, const RowTops& tops, const RowContext& row) {
  const SamplingParams& params = *row.params;
  if (tops.max == kMinusInfinity) return lowest_allowed(row);

  SampledToken out;
  out.token = find_best(logits, tops);
  if (!is_greedy(params))
    out.token = gumbel_argmax(logits, tops, sampling_cut(logits, tops, params), out.token,
                              params.seed, row.position);
  if (params.wants_logprobs()) report(out, logits, tops, params);
  return out;
}

}  // namespace

SampledToken sample_row(std::span<float> logits, const RowContext& row) {
  const RowTops tops = adjust_logits(logits, row);
  return draw(logits, tops, row);
}

SampledToken sample_adjusted(std::span<float> logits, const RowContext& row) {
  if (!row.allowed.empty()) apply_mask(logits, row.allowed);
  return draw(logits, RowTops::of(logits), row);
}

SampledToken score_token(std::span<const float> logits, Token token, const SamplingParams& params) {
  std::vector<float> copy(logits.begin(), logits.end());
  SamplingParams plain;
  plain.temperature = 0.0F;
  const RowTops tops = adjust_logits(copy, RowContext{.params = &plain});
  SampledToken out;
  out.token = token;
  if (tops.max == kMinusInfinity) {
    out.logprob = kNoChance;
    out.token_logprobs.assign(params.logprob_tokens.size(), kNoChance);
  } else {
    report(out, copy, tops, params);
  }
  return out;
}

}  // namespace foretoken
