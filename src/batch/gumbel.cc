#include "batch/gumbel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/rng.h"
#include "batch/row_loops.h"

namespace foretoken {
namespace {

constexpr std::size_t kBlock = kNoiseBlock;
static_assert(kBlock == RowLoops::kTop);

// Below this random word no token has noise of `gap` or more: g > d needs 1 - u <= -log u < e^-d.
std::uint32_t lowest_word_of(float gap) {
  const float needed = 8388608.0F * (1.0F - exp_nonpositive(-gap)) - 2.0F;
  return needed <= 0.0F ? 0U : static_cast<std::uint32_t>(needed) << 9U;
}

// Below this random word no token of value <= x reaches `best`; the slack covers the rounding of g
// and of x + g. Asked for every part of a row, so gaps are rounded down to steps.
std::uint32_t lowest_useful_word(float x, float best) {
  constexpr float kSteps = 8.0F;  // of a gap of 1
  constexpr auto kCount = static_cast<std::size_t>(kSteps * kMaxGumbelNoise) + 1;
  static const auto words = [] {
    std::array<std::uint32_t, kCount> all{};
    for (std::size_t i = 0; i < kCount; ++i)
      all[i] = lowest_word_of(static_cast<float>(i) / kSteps);
    return all;
  }();
  const float slack = 0.01F + (std::fabs(best) + std::fabs(x)) * 0x1p-21F;
  const float gap = best - x - slack;
  if (!(gap > 0.0F)) return 0;
  return words[static_cast<std::size_t>(std::min(gap * kSteps, static_cast<float>(kCount - 1)))];
}

// The greatest so far, in order.
class Leaders {
 public:
  Leaders(std::span<NoisyToken> out, float reach) : out_(out), reach_(reach) {}

  // What is below it does not get in any more.
  float floor() const {
    if (count_ == 0) return kMinusInfinity;
    const float within_reach = out_[0].value - reach_;
    return count_ < out_.size() ? within_reach : std::max(within_reach, out_.back().value);
  }
  // Those that a new leader leaves out of reach are the last ones.
  std::size_t count() const {
    std::size_t count = count_;
    while (count > 1 && out_[count - 1].value < floor()) --count;
    return count;
  }
  void add(NoisyToken found) {
    if (found.value < floor()) return;
    if (count_ == out_.size() && !goes_before(found, out_.back())) return;
    if (count_ < out_.size()) ++count_;
    std::size_t place = count_ - 1;
    for (; place > 0 && goes_before(found, out_[place - 1]); --place) out_[place] = out_[place - 1];
    out_[place] = found;
  }

 private:
  static bool goes_before(const NoisyToken& a, const NoisyToken& b) {
    return a.value != b.value ? a.value > b.value : a.token < b.token;
  }
  const std::span<NoisyToken> out_;
  const float reach_;
  std::size_t count_ = 0;
};

}  // namespace

Token find_best(std::span<const float> logits, const RowTops& tops) {
  const RowLoops& loops = row_loops();
  const std::size_t part = loops.first_equal(tops.parts.data(), tops.parts.size(), tops.max);
  const std::size_t start = part * RowLoops::kTop;
  if (start >= logits.size()) return kNoToken;
  const auto block = logits.subspan(start, std::min(RowLoops::kTop, logits.size() - start));
  return static_cast<Token>(start + loops.first_equal(block.data(), block.size(), tops.max));
}

std::size_t gumbel_top(std::span<const float> logits, const RowTops& tops, const Cut& cut,
                       Token best_token, std::uint64_t seed, std::int64_t position, float reach,
                       std::span<NoisyToken> out) {
  Leaders leaders(out, reach);
  leaders.add({best_token, logits[static_cast<std::size_t>(best_token)] +
                               gumbel_noise(seed, position, best_token)});
  const RowLoops& loops = row_loops();
  std::array<std::uint32_t, kBlock> words;
  for (std::size_t part = 0; part < tops.parts.size(); ++part) {
    const float top = tops.parts[part];
    if (top < cut.x || top + kMaxGumbelNoise < leaders.floor()) continue;
    const std::size_t start = part * kBlock;
    const std::uint32_t lowest = lowest_useful_word(top, leaders.floor());
    if (!loops.noise_words(seed, position, static_cast<std::int32_t>(start), lowest, words.data()))
      continue;
    const auto block = logits.subspan(start, std::min(kBlock, logits.size() - start));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto id = static_cast<Token>(start + i);
      if (words[i] < lowest || id == best_token || !cut.keeps(block[i], id)) continue;
      leaders.add({id, block[i] + gumbel_of_word(words[i])});
    }
  }
  return leaders.count();
}

Token gumbel_argmax(std::span<const float> logits, const RowTops& tops, const Cut& cut,
                    Token best_token, std::uint64_t seed, std::int64_t position) {
  NoisyToken best;
  gumbel_top(logits, tops, cut, best_token, seed, position, 0.0F, {&best, 1});
  return best.token;
}

}  // namespace foretoken
