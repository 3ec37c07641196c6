#include "batch/verify.h"

#include <algorithm>

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
    std::span<const std::uint32_t> allowed;
    if (entry.constraint != nullptr) {
      allowed = entry.constraint->allowed();
      walk.is_stuck = !entry.constraint->fault().empty();
    }
    const SampledToken& drawn = walk.emitted.emplace_back(
        sample_row(logits_of(node), {.params = entry.params,
                                     .counts = entry.counts,
                                     .ancestors = ancestors,
                                     .position = root_position + depth + 1,
                                     .generated = entry.generated + depth,
                                     .allowed = allowed}));
    walk.path.push_back(node);
    if (walk.is_stuck) break;
    if (std::find(stops.begin(), stops.end(), drawn.token) != stops.end()) break;
    if (entry.constraint != nullptr && !move_on(*entry.constraint, drawn.token, walk)) break;
    node = find_child(trees, entry.slot, node, drawn.token);
    ancestors.push_back(drawn.token);
  }
  return walk;
}

}  // namespace foretoken
