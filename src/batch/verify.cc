#include "batch/verify.h"

#include <algorithm>

#include "base/index.h"
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
  if (drawn.is_void || constraint.allows(drawn.token) || !constraint.fault().empty()) return drawn;
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

bool ends_text(const StepEntry& entry, Token token) {
  const std::vector<Token>& stops = entry.params->stop_tokens;
  return std::find(stops.begin(), stops.end(), token) != stops.end();
}

bool is_drawn(const DrawnNodes& drawn, int node) {
  return at(node) < drawn.size() && drawn[at(node)].has_value();
}

// The row of a node behind these tokens of the tree, its own among them, without the root's.
RowContext row_at(const StepEntry& entry, std::int64_t root_position,
                  std::span<const Token> ancestors) {
  const auto depth = static_cast<int>(ancestors.size());
  return {.params = entry.params,
          .counts = entry.counts,
          .ancestors = ancestors,
          .position = root_position + depth + 1,
          .generated = entry.generated + depth};
}

}  // namespace

SampledToken draw_node(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                       int node, std::span<float> logits) {
  std::vector<Token> ancestors;
  for (int n = node; n > 0; n = trees.parents(entry.slot)[at(n)])
    ancestors.push_back(trees.tokens(entry.slot)[at(n)]);
  std::ranges::reverse(ancestors);
  return sample_row(logits, row_at(entry, root_position, ancestors));
}

std::vector<int> nodes_ahead(const StepEntry& entry, const DraftTrees& trees,
                             const DrawnNodes& drawn, int most) {
  int stands_at = 0;
  while (is_drawn(drawn, stands_at)) {
    const Token token = drawn[at(stands_at)]->token;
    stands_at = ends_text(entry, token) ? -1 : find_child(trees, entry.slot, stands_at, token);
    if (stands_at < 0) return {};
  }
  const auto parents = trees.parents(entry.slot);
  const auto scores = trees.scores(entry.slot);
  std::vector<bool> is_below(parents.size(), false);
  std::vector<int> ahead;
  for (int n = stands_at; n < trees.size(entry.slot); ++n) {
    is_below[at(n)] = n == stands_at || is_below[at(parents[at(n)])];
    if (is_below[at(n)] && !is_drawn(drawn, n)) ahead.push_back(n);
  }
  std::stable_sort(ahead.begin() + 1, ahead.end(),
                   [&](int a, int b) { return scores[at(a)] > scores[at(b)]; });
  if (ahead.size() > at(most)) ahead.resize(at(most));
  return ahead;
}

WalkSeq walk_tree(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                  const std::function<std::span<float>(int node)>& logits_of, DrawnNodes drawn) {
  WalkSeq walk;
  walk.slot = entry.slot;
  const auto draw_at = [&](int node, const RowContext& row) {
    if (is_drawn(drawn, node)) return *std::move(drawn[at(node)]);
    if (entry.constraint != nullptr) return draw(row, logits_of(node), *entry.constraint);
    return sample_row(logits_of(node), row);
  };
  std::vector<Token> ancestors;
  for (int node = 0; node >= 0;) {
    const RowContext row = row_at(entry, root_position, ancestors);
    walk.emitted.push_back(draw_at(node, row));
    const Token token = walk.emitted.back().token;
    walk.is_stuck = entry.constraint != nullptr && !entry.constraint->fault().empty();
    walk.is_void = walk.emitted.back().is_void;
    walk.path.push_back(node);
    if (walk.is_stuck || walk.is_void) return walk;
    if (ends_text(entry, token)) return walk;
    if (entry.constraint != nullptr && !move_on(*entry.constraint, token, walk)) return walk;
    node = find_child(trees, entry.slot, node, token);
    ancestors.push_back(token);
  }
  const auto emitted = static_cast<int>(walk.emitted.size());
  if (entry.wants_foreseen && emitted + 1 < entry.tokens_left)
    walk.foreseen = entry.constraint->foreseen();
  return walk;
}

}  // namespace foretoken
