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

}  // namespace

WalkSeq walk_tree(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                  const std::function<std::span<float>(int node)>& logits_of) {
  WalkSeq walk;
  walk.slot = entry.slot;
  const std::vector<Token>& stops = entry.params->stop_tokens;
  std::vector<Token> ancestors;
  for (int node = 0; node >= 0;) {
    const auto depth = static_cast<int>(ancestors.size());
    const SampledToken& drawn = walk.emitted.emplace_back(
        sample_row(logits_of(node), {.params = entry.params,
                                     .counts = entry.counts,
                                     .ancestors = ancestors,
                                     .position = root_position + depth + 1,
                                     .generated = entry.generated + depth}));
    walk.path.push_back(node);
    if (std::find(stops.begin(), stops.end(), drawn.token) != stops.end()) break;
    node = find_child(trees, entry.slot, node, drawn.token);
    ancestors.push_back(drawn.token);
  }
  return walk;
}

}  // namespace foretoken
