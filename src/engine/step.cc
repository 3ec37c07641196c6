#include "engine/step.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "batch/commit.h"
#include "batch/state_blocks.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool wants_hidden(const StepEntry& entry) { return entry.hidden_from >= 0; }

}  // namespace

Step::Step(Ops& ops, TargetModel& target, Drafter& drafter, int slots,
           std::size_t logit_slice_bytes)
    : ops_(ops),
      target_(target),
      drafter_(drafter),
      needs_(drafter.needs()),
      table_(slots),
      trees_(slots, std::clamp(needs_.max_nodes, 1, kMaxTreeNodes)),
      slots_(at(slots)),
      slice_rows_(logit_slice_rows(target.vocab(), logit_slice_bytes)) {}

// ---- what changes between steps

void Step::make(const SlotChange& change) {
  if (change.kind == SlotChange::Kind::kClose) close(change.slot);
  apply(change, table_);
  if (change.kind == SlotChange::Kind::kOpen) open(change.slot, change.opening);
  if (change.kind == SlotChange::Kind::kForget) drafter_.forget();
}

void Step::open(SeqSlot slot, const SlotOpening& opening) {
  const std::span<const Token> text = opening.draft.tokens;
  const std::size_t prompt = opening.draft.prompt_tokens;
  const auto generated = static_cast<int>(text.size() - prompt);
  Slot& s = slots_[at(slot)];
  s = {};
  s.params = opening.params;
  s.is_traced = opening.draft.wish.is_traced;
  s.generated = generated;
  s.tokens_left = opening.max_new - generated;
  if (opening.params->has_penalties()) {
    for (const Token token : text.first(prompt)) s.counts.add_prompt(token);
    for (const Token token : text.subspan(prompt)) s.counts.add_output(token);
  }
  if (opening.snapshot >= 0) {
    const StateCopy copy{.from = 2 * slots() + opening.snapshot, .to = state_page(slot)};
    ops_.copy_states(std::span(&copy, 1), target_.kv_layers());
  }
  drafter_.open(slot, opening.draft);
  s.is_open = true;
}

void Step::close(SeqSlot slot) {
  if (slots_[at(slot)].is_open) drafter_.close(slot);
  slots_[at(slot)] = {};
}

void Step::reset() {
  for (SeqSlot slot = 0; slot < slots(); ++slot) {
    close(slot);
    apply({.kind = SlotChange::Kind::kClose, .slot = slot}, table_);
  }
}

// What the entry says of its sequence as it is before this step.
void Step::prepare(StepEntry& entry) {
  const Slot& s = slots_[at(entry.slot)];
  entry.params = s.params;
  entry.counts = s.params->has_penalties() ? &s.counts : nullptr;
  entry.generated = s.generated;
  entry.tokens_left = s.tokens_left;
  entry.wants_foreseen = needs_.foreseen && entry.constraint != nullptr;
  if (entry.root != kNoToken) trees_.plant(entry.slot, entry.root);
  if (entry.has_tree) trees_.prune(entry.slot, entry.max_nodes);
}

// ---- the step

StepResult Step::run(StepOrder& order, const FoundTaker& found) {
  const auto begin = Clock::now();
  for (const SlotChange& change : order.changes) make(change);
  std::erase_if(order.entries, [&](const auto& entry) { return slots_[at(entry.slot)].has_ended; });
  if (order.entries.empty()) return {};
  for (StepEntry& entry : order.entries) prepare(entry);
  ops_.layout(order, trees_, table_, batch_);
  FeatureTaps taps = drafter_.taps();
  taps.last_hidden |= std::ranges::any_of(order.entries, wants_hidden);
  const Features features = target_.forward(batch_, taps);
  StepResult result;
  verify(order, features, result.walk);
  read_hidden(order, features, result.walk);
  ops_.kv_keep(result.walk, batch_, target_.kv_layers());
  result.outcomes.resize(order.entries.size());
  trace(order, result);
  advance(order, result);
  keep_states(order, result);
  const auto verified = Clock::now();
  if (found) found(order, result);
  const auto told = Clock::now();
  drafter_.observe(
      {.plan = order, .table = table_, .batch = batch_, .walk = result.walk, .features = features});
  drafter_.propose(growing_, limits_, trees_);
  conclude(order, result);
  result.seconds = {.verify = seconds_between(begin, verified),
                    .draft = seconds_between(told, Clock::now())};
  return result;
}

void Step::verify(const StepPlan& plan, const Features& features, Walk& walk) {
  const ScratchScope logits_only(ops_);
  if (batch_.logit_rows.size() > static_cast<std::size_t>(slice_rows_))
    return verify_in_slices(plan, features, walk);
  ops_.verify(plan, trees_, batch_, target_.logits(features, batch_), walk);
  ops_.read_back();
}

// As many whole entries at a time as one slice holds, one at least.
void Step::verify_in_slices(const StepPlan& plan, const Features& features, Walk& walk) {
  StepPlan part;
  Walk found;
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
    ops_.verify(part, trees_, slice_, target_.logits(features, slice_), found);
    ops_.read_back();
    std::move(found.seqs.begin(), found.seqs.end(), std::back_inserter(walk.seqs));
  }
}

// Hidden states of rows whose tokens stay: of the chain, and of the path that was accepted.
void Step::read_hidden(const StepPlan& plan, const Features& features, Walk& walk) {
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    if (!wants_hidden(entry)) continue;
    const BatchSeq& seq = batch_.seqs[i];
    const auto first = rows.size();
    for (std::int32_t row = std::max(0, entry.hidden_from - seq.base); row < seq.chain; ++row)
      rows.push_back(seq.first_row + row);
    for (const std::int32_t node : walk.seqs[i].path)
      rows.push_back(seq.first_row + seq.chain + node);
    walk.seqs[i].hidden.resize(rows.size() - first);
  }
  if (rows.empty()) return;
  std::vector<float> values;
  ops_.read_rows(features.last_hidden, rows, values);
  ops_.read_back();
  const auto width = static_cast<std::ptrdiff_t>(values.size() / rows.size());
  auto next = values.cbegin();
  for (WalkSeq& found : walk.seqs)
    for (std::vector<float>& state : found.hidden) {
      state.assign(next, next + width);
      next += width;
    }
}

// The trees that were verified, as long as they stand.
void Step::trace(const StepPlan& plan, StepResult& result) {
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    if (!entry.has_tree || !slots_[at(entry.slot)].is_traced) continue;
    const BatchSeq& rows = batch_.seqs[i];
    const auto tokens = trees_.tokens(entry.slot);
    const auto parents = trees_.parents(entry.slot);
    const auto scores = trees_.scores(entry.slot);
    const auto origins = drafter_.origins(entry.slot);
    DraftTrace& trace = result.outcomes[i].trace.emplace();
    for (std::size_t n = 1; n < at(rows.rows - rows.chain); ++n)
      trace.drafts.push_back({.token = tokens[n],
                              .parent = parents[n] - 1,
                              .chance = scores[n],
                              .drafters = n <= origins.size() ? origins[n - 1] : 0});
    for (const std::int32_t node : result.walk.seqs[i].path)
      if (node > 0) trace.accepted.push_back(node - 1);
  }
}

// Lengths and roots of the next step. A sequence whose output is complete gets no proposals, and no
// further step.
void Step::advance(const StepPlan& plan, StepResult& result) {
  growing_.clear();
  limits_.clear();
  CHECK(result.walk.seqs.size() == plan.entries.size());
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    const WalkSeq& found = result.walk.seqs[i];
    commit(table_, entry.slot, entry.chain.size(), found.path.size());
    if (!entry.has_tree) continue;
    SeqOutcome& outcome = result.outcomes[i];
    outcome.drafts = batch_.seqs[i].rows - batch_.seqs[i].chain - 1;
    Slot& s = slots_[at(entry.slot)];
    const Token root = found.emitted.back().token;
    trees_.plant(entry.slot, root);
    s.generated += static_cast<int>(found.emitted.size());
    s.tokens_left -= static_cast<int>(found.emitted.size());
    const auto& stops = entry.params->stop_tokens;
    s.has_ended = found.is_complete || found.is_stuck || found.is_void || s.tokens_left <= 0 ||
                  std::find(stops.begin(), stops.end(), root) != stops.end();
    outcome.is_last = s.has_ended;
    // A path of n drafts emits at most n + 1 tokens, and its positions stay inside the context.
    if (s.has_ended || s.tokens_left <= 1 || trees_.max_nodes() <= 1) continue;
    growing_.push_back(entry.slot);
    limits_.push_back({.nodes = trees_.max_nodes(), .depth = s.tokens_left - 1});
  }
}

// Of sequences that have completed a block.
void Step::keep_states(const StepPlan& plan, StepResult& result) {
  std::vector<StateCopy> copies;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    const std::int32_t block = state_block(table_.length[at(entry.slot)]);
    if (entry.snapshot < 0 || block == state_block(batch_.seqs[i].base)) continue;
    copies.push_back({.from = state_page(entry.slot), .to = 2 * slots() + entry.snapshot});
    result.outcomes[i].state_tokens = block * kStateTokens;
  }
  if (!copies.empty()) ops_.copy_states(copies, target_.kv_layers());
}

// Counts change only now: drafters saw those that the step was sampled with.
void Step::conclude(const StepPlan& plan, StepResult& result) {
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const StepEntry& entry = plan.entries[i];
    if (entry.counts != nullptr)
      for (const SampledToken& sampled : result.walk.seqs[i].emitted)
        slots_[at(entry.slot)].counts.add_output(sampled.token);
    SeqOutcome& outcome = result.outcomes[i];
    outcome.next_nodes = entry.has_tree ? trees_.size(entry.slot) : 1;
    outcome.report = drafter_.report(entry.slot);
  }
}

}  // namespace foretoken
