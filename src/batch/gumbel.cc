#include "batch/gumbel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t kBlock = kNoiseBlock;

float block_max(std::span<const float> x) {
  Lanes lanes;
  lanes.fill(kMinusInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (; i < x.size(); ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  return max_lanes(lanes);
}

// Below this random word no token of value <= x reaches `best`. Noise g > d needs
// 1 - u <= -log u < e^-d; the margins cover the rounding of g and of x + g.
std::uint32_t lowest_useful_word(float x, float best) {
  const float slack = 0.01F + (std::fabs(best) + std::fabs(x)) * 0x1p-21F;
  const float gap = best - x - slack;
  if (gap <= 0.0F) return 0;
  const float needed = 8388608.0F * (1.0F - exp_nonpositive(-gap)) - 2.0F;
  return needed <= 0.0F ? 0U : static_cast<std::uint32_t>(needed) << 9U;
}

}  // namespace

Token find_first(std::span<const float> logits, float max) {
  for (std::size_t start = 0; start < logits.size(); start += kBlock) {
    const std::size_t end = std::min(start + kBlock, logits.size());
    int any = 0;
    for (std::size_t i = start; i < end; ++i) any |= logits[i] == max ? 1 : 0;
    if (any == 0) continue;
    for (std::size_t i = start; i < end; ++i)
      if (logits[i] == max) return static_cast<Token>(i);
  }
  return kNoToken;
}

Token gumbel_argmax(std::span<const float> logits, const Cut& cut, Token best_token,
                    std::uint64_t seed, std::int64_t position) {
  Token token = best_token;
  float best = logits[static_cast<std::size_t>(token)] + gumbel_noise(seed, position, best_token);
  std::array<std::uint32_t, kBlock> words;
  for (std::size_t start = 0; start < logits.size(); start += kBlock) {
    const auto block = logits.subspan(start, std::min(kBlock, logits.size() - start));
    const float top = block_max(block);
    if (top < cut.x || top + kMaxGumbelNoise < best) continue;
    noise_words_block(seed, position, static_cast<std::int32_t>(start), words);
    const std::uint32_t lowest = lowest_useful_word(top, best);
    int useful = 0;
    for (const std::uint32_t word : words) useful |= word >= lowest ? 1 : 0;
    if (useful == 0) continue;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto id = static_cast<Token>(start + i);
      if (words[i] < lowest || !cut.keeps(block[i], id)) continue;
      const float score = block[i] + gumbel_of_word(words[i]);
      if (score > best || (score == best && id < token)) {
        best = score;
        token = id;
      }
    }
  }
  return token;
}

}  // namespace foretoken
