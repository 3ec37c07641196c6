#include "backend/vulkan/row_search.h"

#include <limits>

#include "batch/logits.h"

namespace foretoken {
namespace {

bool is_whole_distribution(const SamplingParams& p) {
  return p.top_k <= 0 && p.top_p >= 1.0F && p.min_p <= 0.0F;
}
// Divided by the temperature, values neither vanish nor become equal but by rounding.
bool has_usual_temperature(const SamplingParams& p) {
  return p.temperature >= 1e-3F && p.temperature <= 1e3F;
}
bool keeps_logits(const SamplingParams& p) {
  return p.temperature < kLowestTemperature || p.temperature == 1.0F;
}

// The first line that holds says what is read; where none does, the whole row is.
struct Line {
  bool (*holds)(const StepEntry& entry, const SamplingParams& params, std::int64_t vocab);
  RowNeed need;
};
using Entry = const StepEntry&;
using Params = const SamplingParams&;
constexpr Line kLines[] = {
    {[](Entry entry, Params, std::int64_t) { return entry.constraint != nullptr; },
     RowNeed::kWhole},
    {[](Entry, Params p, std::int64_t) { return p.wants_logprobs(); }, RowNeed::kWhole},
    {[](Entry, Params p, std::int64_t) { return !p.logit_bias.empty(); }, RowNeed::kWhole},
    {[](Entry, Params p, std::int64_t) { return p.has_penalties(); }, RowNeed::kWhole},
    {[](Entry entry, Params p, std::int64_t) { return entry.generated < p.min_new_tokens; },
     RowNeed::kWhole},
    {[](Entry, Params p, std::int64_t) { return is_greedy(p) && keeps_logits(p); }, RowNeed::kBest},
    {[](Entry, Params p, std::int64_t) { return !has_usual_temperature(p); }, RowNeed::kWhole},
    {[](Entry, Params p, std::int64_t vocab) {
       return p.top_k > 0 && p.top_k <= static_cast<int>(kMostFound) && p.top_k < vocab;
     },
     RowNeed::kTopK},
    {[](Entry, Params p, std::int64_t) { return is_whole_distribution(p); }, RowNeed::kNoisy},
};

constexpr std::uint32_t kSpare = 8;  // tokens that only rounding may make equal

}  // namespace

RowNeed row_need(const StepEntry& entry, std::int64_t vocab) {
  for (const Line& line : kLines)
    if (line.holds(entry, *entry.params, vocab)) return line.need;
  return RowNeed::kWhole;
}

std::uint32_t found_room(RowNeed need, const SamplingParams& params) {
  if (need == RowNeed::kBest) return 1;
  return need == RowNeed::kTopK ? static_cast<std::uint32_t>(params.top_k) + kSpare : kSpare;
}

SearchAt search_of_top(std::uint32_t count, std::uint32_t row) {
  return {.row = row,
          .count = count,
          .is_exact = 1,
          .is_raw = 1,
          .has_noise = 0,
          .temperature = 1.0F,
          .most = 0,
          .slack = 0,
          .slack_share = 0,
          .seed = {},
          .position = {}};
}

SearchAt search_of(RowNeed need, const SamplingParams& params, std::int64_t position,
                   std::uint32_t row) {
  SearchAt search = search_of_top(1, row);
  search.is_raw = 0;
  if (need == RowNeed::kBest) return search;
  search.is_exact = 0;
  search.most = std::numeric_limits<float>::max();
  search.slack_share = 0x1p-19F;
  if (need == RowNeed::kTopK) {
    // Quotients above 1e30 are one value to the sampler, and those below 2^-126 are zeros.
    search.count = static_cast<std::uint32_t>(params.top_k);
    search.most = 1e26F;
    search.slack = 1e-30F;
    return search;
  }
  search.has_noise = 1;
  search.temperature = params.temperature;
  search.slack = 0.01F;  // noise on the device is off by less than a thousandth of that
  const auto place = static_cast<std::uint64_t>(position);
  search.seed = {static_cast<std::uint32_t>(params.seed),
                 static_cast<std::uint32_t>(params.seed >> 32U)};
  search.position = {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32U)};
  return search;
}

}  // namespace foretoken
