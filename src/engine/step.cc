#include "engine/step.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Step::Step(Ops& ops, TargetModel& target, Drafter& drafter, int slots,
           std::size_t logit_slice_bytes)
    : ops_(ops),
      target_(target),
      drafter_(drafter),
      needs_(drafter.needs()),
      table_(slots),
      trees_(slots, std::clamp(needs_.max_nodes, 1, kMaxTreeNodes)),
      slice_rows_(logit_slice_rows(target.vocab(), logit_slice_bytes)) {}

StepHandle Step::launch(StepPlan plan) {
  const auto begin = Clock::now();
  if (needs_.foreseen)
    for (StepEntry& entry : plan.entries) entry.wants_foreseen = entry.constraint != nullptr;
  ops_.layout(plan, trees_, table_, batch_);
  const Features features = target_.forward(batch_, drafter_.taps());
  Walk walk = verify(plan, features);
  ops_.kv_keep(walk, batch_, target_.kv_layers());
  advance(plan, walk);
  const auto verified = Clock::now();
  drafter_.observe(
      {.plan = plan, .table = table_, .batch = batch_, .walk = walk, .features = features});
  drafter_.propose(growing_, limits_, trees_);
  const StepSeconds seconds{.verify = seconds_between(begin, verified),
                            .draft = seconds_between(verified, Clock::now())};
  return {std::move(plan), std::move(walk), seconds};
}

Walk Step::verify(const StepPlan& plan, const Features& features) {
  const ScratchScope logits_only(ops_);
  if (batch_.logit_rows.size() > static_cast<std::size_t>(slice_rows_))
    return verify_in_slices(plan, features);
  return ops_.verify(plan, trees_, batch_, target_.logits(features, batch_));
}

// As many whole entries at a time as one slice holds, one at least.
Walk Step::verify_in_slices(const StepPlan& plan, const Features& features) {
  Walk walk;
  StepPlan part;
  slice_ = batch_;
  auto logit = batch_.logit_rows.begin();
  for (std::size_t first = 0, end = 0; first < plan.entries.size(); first = end) {
    const auto first_logit = logit;
    for (; end < plan.entries.size(); ++end) {
      const BatchSeq& seq = batch_.seqs[end];
      const auto after = std::lower_bound(logit, batch_.logit_rows.end(), seq.first_row + seq.rows);
      if (end > first && after - first_logit > slice_rows_) break;
      logit = after;
    }
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(end);
    part.entries.assign(plan.entries.begin() + from, plan.entries.begin() + to);
    slice_.seqs.assign(batch_.seqs.begin() + from, batch_.seqs.begin() + to);
    slice_.logit_rows.assign(first_logit, logit);
    const ScratchScope slice_only(ops_);
    Walk found = ops_.verify(part, trees_, slice_, target_.logits(features, slice_));
    std::move(found.seqs.begin(), found.seqs.end(), std::back_inserter(walk.seqs));
  }
  return walk;
}

// Lengths and roots of the next step. A sequence whose output is complete gets no proposals.
void Step::advance(const StepPlan& plan, const Walk& walk) {
  growing_.clear();
  limits_.clear();
  CHECK(walk.seqs.size() == plan.entries.size());
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    const WalkSeq& found = walk.seqs[i];
    table_.length[at(entry.slot)] +=
        static_cast<std::int32_t>(entry.chain.size() + found.path.size());
    if (!entry.has_tree) continue;
    const Token root = found.emitted.back().token;
    trees_.plant(entry.slot, root);
    const auto& stops = entry.params->stop_tokens;
    const bool has_ended = found.is_complete || found.is_stuck ||
                           std::find(stops.begin(), stops.end(), root) != stops.end();
    // A path of n drafts emits at most n + 1 tokens, and its positions stay inside the context.
    const int left = entry.tokens_left - static_cast<int>(found.emitted.size());
    if (has_ended || left <= 1 || trees_.max_nodes() <= 1) continue;
    growing_.push_back(entry.slot);
    limits_.push_back({.nodes = trees_.max_nodes(), .depth = left - 1});
  }
}

}  // namespace foretoken
