#include "draft/catalogue/union_drafter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "draft/tree_growth.h"

namespace foretoken {
namespace {

constexpr float kBarred = -1;          // a chance that no draft has
constexpr double kYieldMemory = 0.95;  // of yields, per tree
constexpr double kUsualTrees = 4;  // of all sequences, that count for one of which little is known
constexpr double kLeastPromise = 1;  // drafts, below which a model is not spared however poor it is

bool may_draft(const DraftWish& wish, std::size_t part) {
  return wish.allows_drafts() && (wish.drafters >> part & 1) != 0;
}

}  // namespace

void UnionDrafter::Yield::add(int drafts) {
  trees = trees * kYieldMemory + 1;
  accepted = accepted * kYieldMemory + drafts;
}

UnionDrafter::Part::Part(std::unique_ptr<Drafter> made, std::shared_ptr<PartPace> its_pace,
                         int num_slots)
    : drafter(std::move(made)),
      pace(std::move(its_pace)),
      needs(drafter->needs()),
      trees(num_slots, std::clamp(needs.max_nodes, 1, kMaxTreeNodes)),
      yield_of(at(num_slots)) {}

// Drafts per tree. While nothing is known nobody is expected to bring less than others promise.
double UnionDrafter::Part::expected(SeqSlot slot) const {
  if (yield.trees == 0) return kMaxTreeNodes;
  const Yield& own = yield_of[at(slot)];
  const double usual = yield.accepted / yield.trees;
  const double drafts = (own.accepted + kUsualTrees * usual) / (own.trees + kUsualTrees);
  return std::max(kLeastPromise, drafts);
}

UnionDrafter::UnionDrafter(int num_slots, std::shared_ptr<StepPace> pace)
    : num_slots_(num_slots), pace_(std::move(pace)), sequences_(at(num_slots)) {}

void UnionDrafter::add(const Make& make) {
  CHECK(parts_.size() < kMostDrafters) << "more than " << kMostDrafters << " drafters";
  auto pace = std::make_shared<PartPace>(*pace_, num_slots_);
  const Part& part = parts_.emplace_back(make(pace), pace, num_slots_);
  if (part.needs.runs_model)
    runs_model_ = true;
  else
    pace->ask(pace_->texts());
}

DraftNeeds UnionDrafter::needs() const {
  DraftNeeds all;
  for (const Part& part : parts_) {
    const DraftNeeds& needs = part.needs;
    all.max_nodes = std::max(all.max_nodes, needs.max_nodes);
    all.foreseen |= needs.foreseen;
    all.scratch_slots = std::max(all.scratch_slots, needs.scratch_slots);
    if (!needs.runs_model) continue;
    CHECK(!all.runs_model) << "two drafters run a model";
    all.runs_model = true;
    all.taps = needs.taps;
  }
  return all;
}

// ---- requests come and go

void UnionDrafter::open(SeqSlot slot, const DraftRequest& request) {
  pace_->open(slot);
  Sequence& sequence = sequences_[at(slot)];
  sequence.wish = request.wish;
  sequence.constraint = request.constraint;
  sequence.report = {};
  sequence.planted.clear();
  std::size_t opened = 0;
  try {
    for (; opened < parts_.size(); ++opened) {
      DraftRequest of_part = request;
      if (!may_draft(request.wish, opened)) of_part.wish.max_nodes = 1;
      parts_[opened].drafter->open(slot, of_part);
    }
  } catch (...) {
    while (opened > 0) parts_[--opened].drafter->close(slot);
    throw;
  }
  bool has_texts = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].yield_of[at(slot)] = {};
    const bool drafts = may_draft(request.wish, i), runs_model = parts_[i].needs.runs_model;
    has_texts |= drafts && !runs_model;
    if (runs_model && !drafts) pace_->spare(slot);
    parts_[i].pace->assign(slot, drafts ? PartPace::Duty::kDrafts : PartPace::Duty::kNever);
  }
  if (!has_texts) pace_->spare_texts(slot);
}

void UnionDrafter::close(SeqSlot slot) {
  sequences_[at(slot)].constraint = nullptr;
  for (Part& part : parts_) part.drafter->close(slot);
}

void UnionDrafter::forget() {
  for (Part& part : parts_) part.drafter->forget();
}

DraftReport UnionDrafter::report(SeqSlot slot) const {
  DraftReport report = sequences_[at(slot)].report;
  for (const Part& part : parts_) report.add(part.drafter->report(slot));
  return report;
}

std::span<const std::uint32_t> UnionDrafter::origins(SeqSlot slot) {
  origins_.clear();
  for (const Scores& scores : sequences_[at(slot)].planted) {
    std::uint32_t drafters = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (scores[i] > 0) drafters |= std::uint32_t{1} << i;
    origins_.push_back(drafters);
  }
  return origins_;
}

FeatureTaps UnionDrafter::taps() const {
  FeatureTaps taps;
  for (const Part& part : parts_)
    if (part.needs.runs_model) taps = part.drafter->taps();
  return taps;
}

// ---- what was committed

// Models read it only when it is known whom they draft for.
void UnionDrafter::observe(const CommittedRows& rows) {
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const BatchSeq& seq = rows.batch.seqs[i];
    if (!rows.walk.seqs[i].path.empty()) learn(rows.walk.seqs[i], seq.rows - seq.chain - 1);
  }
  pace_->observe(rows);
  for (Part& part : parts_)
    if (!part.needs.runs_model) part.drafter->observe(rows);
  rows_.emplace(rows);
}

// drafts: those of its tree that were verified, the first ones.
void UnionDrafter::learn(const WalkSeq& found, int drafts) {
  Sequence& sequence = sequences_[at(found.slot)];
  if (sequence.planted.size() > at(drafts)) sequence.planted.resize(at(drafts));
  if (sequence.planted.empty()) return;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    DraftTally tally;
    double promised = 0;
    for (const Scores& scores : sequence.planted) {
      if (scores[i] <= 0) continue;
      ++tally.proposed;
      promised += static_cast<double>(scores[i]);
    }
    if (tally.proposed == 0) continue;
    for (const std::int32_t node : found.path)
      if (node > 0 && sequence.planted[at(node - 1)][i] > 0) ++tally.accepted;
    Part& part = parts_[i];
    part.pace->trust().add(promised, tally.accepted);
    part.yield.add(tally.accepted);
    part.yield_of[at(found.slot)].add(tally.accepted);
    sequence.report.by_drafter[i].add(tally);
  }
  if (runs_model_) credit_texts(found);
  ++sequence.report.drafted;
  sequence.planted.clear();
}

void UnionDrafter::credit_texts(const WalkSeq& found) {
  const std::span<const Scores> planted = sequences_[at(found.slot)].planted;
  const auto is_of_texts = [&](const Scores& scores) {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (scores[i] > 0 && !parts_[i].needs.runs_model) return true;
    return false;
  };
  int accepted = 0;
  for (const std::int32_t node : found.path)
    if (node > 0 && is_of_texts(planted[at(node - 1)])) ++accepted;
  const auto drafts = static_cast<int>(std::ranges::count_if(planted, is_of_texts));
  pace_->credit_texts(found.slot, drafts, accepted);
}

// ---- trees

void UnionDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  choose_slots(slots, limits);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i].needs.runs_model) ask(i, trees);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].needs.runs_model) continue;
    spare(i);
    parts_[i].drafter->observe(*rows_);
    ask(i, trees);
  }
  rows_.reset();
  for (std::size_t i = 0; i < slots_.size(); ++i) join(slots_[i], limits_[i], trees);
  pace_->end_growth();
}

void UnionDrafter::choose_slots(std::span<const SeqSlot> slots,
                                std::span<const TreeLimits> limits) {
  slots_.clear();
  limits_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Sequence& sequence = sequences_[at(slots[i])];
    ++sequence.report.steps;
    if (!sequence.wish.allows_drafts()) {
      ++sequence.report.unwished;
      continue;
    }
    slots_.push_back(slots[i]);
    limits_.push_back(limits[i]);
    limits_.back().nodes = std::min(limits[i].nodes, sequence.wish.max_nodes);
  }
}

// Lets it grow trees of its own.
void UnionDrafter::ask(std::size_t part, const DraftTrees& trees) {
  Part& asked = parts_[part];
  asked_slots_.clear();
  asked_limits_.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SeqSlot slot = slots_[i];
    asked.trees.plant(slot, trees.tokens(slot).front());
    if (asked.pace->duty(slot) != PartPace::Duty::kDrafts) continue;
    asked_slots_.push_back(slot);
    asked_limits_.push_back(limits_[i]);
  }
  asked.drafter->propose(asked_slots_, asked_limits_, asked.trees);
}

void UnionDrafter::spare(std::size_t model) {
  Part& part = parts_[model];
  for (const SeqSlot slot : slots_) {
    if (part.pace->duty(slot) == PartPace::Duty::kNever) continue;
    const bool is_spared = promised(slot) >= part.expected(slot);
    part.pace->assign(slot, is_spared ? PartPace::Duty::kSpared : PartPace::Duty::kDrafts);
  }
}

// Of the drafts that cost nothing, those that are expected to come true.
double UnionDrafter::promised(SeqSlot slot) const {
  double most = 0;
  for (const Part& part : parts_) {
    if (part.needs.runs_model) continue;
    const auto drafts = part.trees.scores(slot).subspan(1);
    const double sum = std::accumulate(drafts.begin(), drafts.end(), 0.0);
    most = std::max(most, sum * part.pace->trust().factor());
  }
  return most;
}

void UnionDrafter::join(SeqSlot slot, const TreeLimits& limits, DraftTrees& trees) {
  nodes_.assign(1, Node{});
  nodes_.front().node = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) add_tree(i, slot);
  if (sequences_[at(slot)].constraint != nullptr) bar(*sequences_[at(slot)].constraint);
  chances_.clear();
  for (const Node& node : std::span(nodes_).subspan(1)) chances_.push_back(node.chance);
  best_scores(chances_, std::min(limits.nodes, trees.max_nodes()) - 1, 0, chosen_);
  // Best first, parents before children: a step that has room for fewer verifies the first ones.
  std::ranges::sort(chosen_, [this](int a, int b) {
    const float x = chances_[at(a)], y = chances_[at(b)];
    return x != y ? x > y : a < b;
  });

  Sequence& sequence = sequences_[at(slot)];
  sequence.planted.clear();
  double promised = 0;
  for (const int draft : chosen_) {
    Node& node = nodes_[at(draft + 1)];
    // A draft is never better than its parent, so that is there already.
    node.node = trees.grow(slot, nodes_[at(node.parent)].node, node.token, node.chance);
    sequence.planted.push_back(node.scores);
    promised += static_cast<double>(node.chance);
  }
  if (!chosen_.empty())
    pace_->plant(slot, promised);
  else if (runs_model_ ? pace_->rests(slot) : pace_->texts().rests(slot))
    ++sequence.report.rested;
}

void UnionDrafter::add_tree(std::size_t part, SeqSlot slot) {
  Part& asked = parts_[part];
  const auto tokens = asked.trees.tokens(slot);
  const auto parents = asked.trees.parents(slot);
  const auto scores = asked.trees.scores(slot);
  const auto trust = static_cast<float>(asked.pace->trust().factor());
  place_.assign(1, 0);
  for (std::size_t n = 1; n < tokens.size(); ++n) {
    const int number = child(place_[at(parents[n])], tokens[n]);
    Node& node = nodes_[at(number)];
    node.scores[part] = scores[n];
    node.chance = std::max(node.chance, std::min(1.0F, scores[n] * trust));
    place_.push_back(number);
  }
}

// Drafts that the constraint does not allow get no chance. One question for each leaf.
void UnionDrafter::bar(TokenConstraint& constraint) {
  for (std::size_t leaf = nodes_.size() - 1; leaf > 0; --leaf) {
    if (nodes_[leaf].first_child >= 0) continue;
    path_.clear();
    for (int n = static_cast<int>(leaf); n > 0; n = nodes_[at(n)].parent) path_.push_back(n);
    std::ranges::reverse(path_);
    tokens_.clear();
    for (const int n : path_) tokens_.push_back(nodes_[at(n)].token);
    const auto allowed = at(constraint.count_allowed(tokens_));
    for (std::size_t i = allowed; i < path_.size(); ++i) nodes_[at(path_[i])].chance = kBarred;
  }
}

// The node with this token below the parent, a new one where there was none.
int UnionDrafter::child(int parent, Token token) {
  int number = nodes_[at(parent)].first_child;
  while (number >= 0 && nodes_[at(number)].token != token) number = nodes_[at(number)].next;
  if (number >= 0) return number;
  number = static_cast<int>(nodes_.size());
  nodes_.push_back({.token = token, .parent = parent, .next = nodes_[at(parent)].first_child});
  nodes_[at(parent)].first_child = number;
  return number;
}

}  // namespace foretoken
