#include "engine/step.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace foretoken {

Step::Step(Ops& ops, TargetModel& target, Drafter& drafter, int slots)
    : ops_(ops),
      target_(target),
      drafter_(drafter),
      needs_(drafter.needs()),
      table_(slots),
      trees_(slots, std::clamp(needs_.max_nodes, 1, kMaxTreeNodes)) {}

StepHandle Step::launch(StepPlan plan) {
  ops_.layout(plan, trees_, table_, batch_);
  const Features features = target_.forward(batch_, needs_.taps);
  const Tensor logits = target_.logits(features, batch_);
  Walk walk = ops_.verify(plan, trees_, batch_, logits);
  ops_.kv_keep(walk, batch_, target_.kv_layers());
  advance(plan, walk);
  drafter_.observe(
      {.plan = plan, .table = table_, .batch = batch_, .walk = walk, .features = features});
  drafter_.propose(growing_, budget_, trees_);
  return {std::move(plan), std::move(walk)};
}

// Lengths and roots of the next step. A sequence whose output is complete gets no proposals.
void Step::advance(const StepPlan& plan, const Walk& walk) {
  growing_.clear();
  budget_.clear();
  CHECK(walk.seqs.size() == plan.entries.size());
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    const WalkSeq& found = walk.seqs[i];
    table_.length[static_cast<std::size_t>(entry.slot)] +=
        static_cast<std::int32_t>(entry.chain.size() + found.path.size());
    if (!entry.has_tree) continue;
    const Token root = found.emitted.back().token;
    trees_.plant(entry.slot, root);
    const auto& stops = entry.params->stop_tokens;
    const bool has_ended = std::find(stops.begin(), stops.end(), root) != stops.end();
    // A tree of n nodes emits at most n tokens, and its positions stay inside the context.
    const int left = entry.tokens_left - static_cast<int>(found.emitted.size());
    const int nodes = std::min(left, trees_.max_nodes());
    if (has_ended || nodes <= 1) continue;
    growing_.push_back(entry.slot);
    budget_.push_back(nodes);
  }
}

}  // namespace foretoken
