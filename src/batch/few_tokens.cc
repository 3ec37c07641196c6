#include "batch/few_tokens.h"

#include <algorithm>
#include <vector>

#include "base/index.h"
#include "base/rng.h"
#include "batch/gumbel.h"
#include "batch/logits.h"

namespace foretoken {

std::optional<Token> sample_few(const FewTokens& row, const SamplingParams& params,
                                std::int64_t position) {
  if (row.tokens.empty()) return std::nullopt;
  std::vector<float> logits(row.logits.begin(), row.logits.end());
  logits.push_back(kMinusInfinity);  // the rest of the row: top-k filters something
  SamplingParams plain;
  plain.temperature = params.temperature;
  const RowTops tops = adjust_logits(logits, {.params = &plain});
  const bool is_best = is_greedy(params);
  const int needed = is_best ? 1 : std::max(params.top_k, 1);
  const auto known = std::ranges::count_if(logits, [](float x) { return x > kMinusInfinity; });
  if (known < needed) return std::nullopt;
  if (is_best) return row.tokens[at(find_best(logits, tops))];
  const Cut cut = sampling_cut(logits, tops, params);
  Token best = kNoToken;
  float greatest = kMinusInfinity;
  for (std::size_t i = 0; i < row.tokens.size(); ++i) {
    if (!cut.keeps(logits[i], static_cast<Token>(i))) continue;
    const float value = logits[i] + gumbel_noise(params.seed, position, row.tokens[i]);
    if (best == kNoToken || value > greatest) best = row.tokens[i], greatest = value;
  }
  return best;
}

}  // namespace foretoken
