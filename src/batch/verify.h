#pragma once
// The walk: sampling followed by descent. At each visited node the ordinary sampler draws the
// target's own next token; if a child carries it, the walk descends, otherwise that token is the
// bonus and the walk ends. Why it is lossless: every emitted token IS the target's sample at its
// position, drawn with noise that depends on (seed, position, token) only; the tree decides how
// many are emitted, never which. Not a rejection sampler: no draft probabilities. Pure functions;
// other backends must agree to the bit.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "batch/batch.h"
#include "batch/tree.h"

namespace foretoken {

// What was drawn at an entry's nodes before the walk asks, by node. May be shorter than the tree.
using DrawnNodes = std::vector<std::optional<SampledToken>>;

// Walks the tree of one entry. logits_of(node) returns that node's logits [vocab], writable; it is
// called for visited nodes only, of those that are not drawn. root_position: position of the root.
// Stops after an emitted stop token (entry.params->stop_tokens), because nothing may follow it, and
// where the constraint of the entry ends, or fails, the text, or the model gave no numbers.
WalkSeq walk_tree(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                  const std::function<std::span<float>(int node)>& logits_of,
                  DrawnNodes drawn = {});

// The token of one node, as the walk would draw it, for several workers to draw side by side. Each
// node once, because its logits are changed. Of entries without a constraint, whose state is that
// of one node.
SampledToken draw_node(const StepEntry& entry, const DraftTrees& trees, std::int64_t root_position,
                       int node, std::span<float> logits);

// The nodes to draw next, at most so many: where the walk stands, and the most probable ones below
// that. Empty: what is drawn leads to its end.
std::vector<int> nodes_ahead(const StepEntry& entry, const DraftTrees& trees,
                             const DrawnNodes& drawn, int most);

}  // namespace foretoken
