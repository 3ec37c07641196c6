#include "spec/text_drafts.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr float kMemory = 0.9F;    // of a sequence's trees, per tree
constexpr float kUsualTokens = 2;  // that odds are taken at their word for, at first
constexpr float kSure = 0.8F;      // drafts that are offered where drafting did not pay

}  // namespace

void TextOffers::open(SeqSlot slot) {
  if (sequences_.size() <= at(slot)) sequences_.resize(at(slot) + 1);
  Sequence& sequence = sequences_[at(slot)];
  sequence.offered.clear();
  sequence.scores.clear();
  sequence.promised = sequence.accepted = 0;
}

void TextOffers::offer(SeqSlot slot, std::span<const TextDraft> drafts, DraftPace& pace,
                       DraftTrees& trees) {
  Sequence& sequence = sequences_[at(slot)];
  sequence.offered.clear();
  sequence.scores.clear();
  const float trust = (sequence.accepted + kUsualTokens) / (sequence.promised + kUsualTokens);
  const float least = pace.rests(slot) ? std::max(kSure, pace.least_score()) : pace.least_score();
  place_.assign(drafts.size(), -1);
  double promised = 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const TextDraft& draft = drafts[i];
    const int above = draft.parent < 0 ? -1 : place_[at(draft.parent)];
    if (above < 0 && draft.parent >= 0) continue;
    const MatchOdds::Kind kind = MatchOdds::kind_of(draft.context, draft.share);
    const float before = above < 0 ? trust : sequence.scores[at(above)];
    const float score = std::min(1.0F, before * odds_.chance(kind));
    if (score < least) {
      odds_.neglect(kind);
      continue;
    }
    const int parent = above < 0 ? 0 : sequence.offered[at(above)].node;
    const int node = trees.grow(slot, parent, draft.token, score);
    if (node < 0) break;
    place_[i] = static_cast<int>(sequence.offered.size());
    sequence.offered.push_back({.token = draft.token,
                                .node = node,
                                .parent = above,
                                .depth = above < 0 ? 1 : sequence.offered[at(above)].depth + 1,
                                .kind = kind,
                                .came_true = false});
    sequence.scores.push_back(score);
    promised += static_cast<double>(score);
  }
  if (!sequence.offered.empty()) pace.plant(slot, promised, 0);
}

TextOffers::Outcome TextOffers::learn(SeqSlot slot, std::span<const SampledToken> sampled) {
  Sequence& sequence = sequences_[at(slot)];
  Outcome outcome{.offered = static_cast<int>(sequence.offered.size()), .accepted = 0};
  if (outcome.offered == 0) return outcome;
  for (Offered& offered : sequence.offered) {
    const bool is_asked = offered.parent < 0 || sequence.offered[at(offered.parent)].came_true;
    if (!is_asked || at(offered.depth) > sampled.size()) continue;
    offered.came_true = offered.token == sampled[at(offered.depth - 1)].token;
    odds_.add(offered.kind, offered.came_true);
    // The last one that was sampled was no node.
    if (offered.came_true && at(offered.depth) < sampled.size()) ++outcome.accepted;
  }
  sequence.promised *= kMemory;
  for (const float score : sequence.scores) sequence.promised += score;
  sequence.accepted = sequence.accepted * kMemory + static_cast<float>(outcome.accepted);
  sequence.offered.clear();
  sequence.scores.clear();
  return outcome;
}

}  // namespace foretoken
