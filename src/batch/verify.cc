#include "batch/verify.h"

#include <algorithm>

#include "batch/logits.h"

namespace foretoken {
namespace {

// The child of `node` that carries `token`, or -1.
int find_child(const DraftTrees& trees, SeqSlot slot, int node, Token token) {
  const auto tokens = trees.tokens(slot);
  const auto parents = trees.parents(slot);
  for (std::size_t n = static_cast<std::size_t>(node) + 1; n < parents.size(); ++n)
    if (parents[n] == node && tokens[n] == token) return static_cast<int>(n);
  return -1;
}

// Whether barring others cannot change a token that is drawn and may come.
bool is_mask_idle(const SamplingParams& params) {
  const bool is_whole = params.top_k <= 0 && params.top_p >= 1.0F && params.min_p <= 0.0F;
  return !params.wants_logprobs() && (is_whole || is_greedy(params));
}

// Draws under the constraint. A token that would be drawn among all, and may come, is drawn among
// those that may come, too: asking about one costs less than a mask.
SampledToken draw(RowContext row, std::span<float> logits, TokenConstraint& constraint) {
  if (!is_mask_idle(*row.params)) {
    row.allowed = constraint.allowed();
    return sample_row(logits, row);
  }
  SampledToken drawn = sample_row(logits, row);
  if (constraint.allows(drawn.token) || !constraint.fault().empty()) return drawn;
  row.allowed = constraint.allowed();
  return sample_adjusted(logits, row);
}

// Moves the constraint behind a sampled token; false: nothing follows it.
bool move_on(TokenConstraint& constraint, Token token, WalkSeq& walk) {
  constraint.advance(token);
  walk.is_stuck = !constraint.fault().empty();
  walk.is_complete = !walk.is_stuck && constraint.has_ended();
  return !walk.is_stuck && !walk.is_complete;
}

}  // namespace

WalkSeq walk_tree(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                  const std::function<std::span<float>(int node)>& logits_of) {
  WalkSeq walk;
  walk.slot = entry.slot;
  const std::vector<Token>& stops = entry.params->stop_tokens;
  std::vector<Token> ancestors;
  for (int node = 0; node >= 0;) {
    const auto depth = static_cast<int>(ancestors.size());
    const RowContext row{.params = entry.params,
                         .counts = entry.counts,
                         .ancestors = ancestors,
                         .position = root_position + depth + 1,
                         .generated = entry.generated + depth};
    const SampledToken& drawn = walk.emitted.emplace_back(
        entry.constraint != nullptr ? draw(row, logits_of(node), *entry.constraint)
                                    : sample_row(logits_of(node), row));
    walk.is_stuck = entry.constraint != nullptr && !entry.constraint->fault().empty();
    walk.path.push_back(node);
    if (walk.is_stuck) return walk;
    if (std::find(stops.begin(), stops.end(), drawn.token) != stops.end()) return walk;
    if (entry.constraint != nullptr && !move_on(*entry.constraint, drawn.token, walk)) return walk;
    node = find_child(trees, entry.slot, node, drawn.token);
    ancestors.push_back(drawn.token);
  }
  const auto emitted = static_cast<int>(walk.emitted.size());
  if (entry.wants_foreseen && emitted + 1 < entry.tokens_left)
    walk.foreseen = entry.constraint->foreseen();
  return walk;
}

}  // namespace foretoken
