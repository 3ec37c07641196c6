#include "draft/from_text/text_drafts.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr float kOutcomeMemory = 0.9F;  // of what a sequence's drafts became, per step
constexpr float kUsualDrafts = 2;       // that odds are taken at their word for, at first
constexpr float kSure = 0.8F;           // drafts that are offered where drafting did not pay

}  // namespace

void TextOffers::open(SeqSlot slot) {
  if (sequences_.size() <= at(slot)) sequences_.resize(at(slot) + 1);
  Sequence& sequence = sequences_[at(slot)];
  sequence.found.clear();
  sequence.promised = sequence.came_true = 0;
}

void TextOffers::offer(SeqSlot slot, std::span<const TextDraft> drafts, const DraftPace& pace,
                       DraftTrees& trees) {
  Sequence& sequence = sequences_[at(slot)];
  sequence.found.clear();
  const float trust = (sequence.came_true + kUsualDrafts) / (sequence.promised + kUsualDrafts);
  const float least = pace.rests(slot) ? std::max(kSure, pace.least_score()) : pace.least_score();
  const Found root{.score = trust};
  for (const TextDraft& draft : drafts) {
    const Found& parent = draft.parent < 0 ? root : sequence.found[at(draft.parent)];
    const MatchOdds::Kind kind = MatchOdds::kind_of(draft.context, draft.share);
    const float chance = odds_.chance(kind);
    const float score = std::min(1.0F, parent.score * chance);
    const bool is_worth_it = parent.node >= 0 && score >= least;
    const int node = is_worth_it ? trees.grow(slot, parent.node, draft.token, score) : -1;
    sequence.found.push_back({.token = draft.token,
                              .parent = draft.parent,
                              .depth = parent.depth + 1,
                              .kind = kind,
                              .chance = chance,
                              .score = score,
                              .node = node});
  }
}

TextOffers::Outcome TextOffers::learn(SeqSlot slot, std::span<const SampledToken> sampled) {
  Sequence& sequence = sequences_[at(slot)];
  Outcome outcome;
  if (sequence.found.empty()) return outcome;
  sequence.promised *= kOutcomeMemory;
  sequence.came_true *= kOutcomeMemory;
  for (Found& draft : sequence.found) {
    const bool is_offered = draft.node >= 0;
    if (is_offered) ++outcome.offered;
    const bool is_judged = (draft.parent < 0 || sequence.found[at(draft.parent)].came_true) &&
                           at(draft.depth) <= sampled.size();
    if (!is_judged) continue;
    draft.came_true = draft.token == sampled[at(draft.depth - 1)].token;
    odds_.add(draft.kind, draft.came_true);
    sequence.promised += draft.chance;
    if (!draft.came_true) continue;
    ++sequence.came_true;
    // The last one that was sampled was no node.
    if (is_offered && at(draft.depth) < sampled.size()) ++outcome.accepted;
  }
  sequence.found.clear();
  return outcome;
}

}  // namespace foretoken
