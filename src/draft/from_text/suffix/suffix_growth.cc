#include "draft/from_text/suffix/suffix_growth.h"

#include <algorithm>

namespace foretoken {

std::span<const TextDraft> SuffixGrowth::grow(const SuffixTrees& trees,
                                              std::span<const Source> sources, int most) {
  best_.clear();
  score_ = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const SuffixTrees::Cursor& end = *sources[i].end;
    for (int length = end.longest(); length >= 1; --length) {
      const int agreed = length == trees.max_depth() ? end.agreed() : length;
      // Shorter ends give fewer drafts, and no draft counts more than one.
      const int limit = most_after(agreed, most);
      if (static_cast<float>(limit) <= score_) break;
      const float score = draft(trees, sources[i], length, agreed, limit);
      if (score <= score_) continue;
      score_ = score;
      source_ = i;
      best_.swap(drafts_);
    }
  }
  return best_;
}

int SuffixGrowth::most_after(int agreed, int most) const {
  const float drafts = shape_.factor * static_cast<float>(agreed);
  return drafts < static_cast<float>(most) ? static_cast<int>(drafts) : most;
}

float SuffixGrowth::draft(const SuffixTrees& trees, const Source& source, int length, int agreed,
                          int most) {
  drafts_.clear();
  SuffixTrees::Point point = trees.point(*source.end, length);
  if (point.node == 0) return 0;
  float score = 0, probability = 1;
  int ended = source.ended;
  for (int n = 0; n < most; ++n) {
    const SuffixTrees::Id before = point.node;
    const auto next = trees.follow(point, ended);
    if (!next) break;
    if (point.node != before) ended = 0;
    probability *= next->share;
    if (probability < shape_.least_probability) break;
    score += probability;
    drafts_.push_back(
        {.token = next->token, .parent = n - 1, .context = agreed + n, .share = next->share});
  }
  return score;
}

}  // namespace foretoken
