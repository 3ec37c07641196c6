#include "spec/controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace foretoken {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

double Controller::steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Controller::Controller(std::unique_ptr<Drafter> drafter, Clock clock)
    : drafter_(std::move(drafter)),
      clock_(std::move(clock)),
      choice_(std::max(1, drafter_->needs().max_nodes)) {}

void Controller::open(SeqSlot slot, std::span<const Token> tokens) {
  if (granted_.size() <= at(slot)) granted_.resize(at(slot) + 1);
  granted_[at(slot)] = 0;
  drafter_->open(slot, tokens);
}

// Prompt chunks and trees cut short would be counted as the cost of full trees.
bool Controller::verified_only_trees_of(int nodes, const CommittedRows& rows) const {
  return std::all_of(rows.plan.entries.begin(), rows.plan.entries.end(), [&](const auto& entry) {
    return entry.has_tree && entry.chain.empty() && granted_[at(entry.slot)] == nodes;
  });
}

void Controller::observe(const CommittedRows& rows) {
  drafter_->observe(rows);
  if (nodes_ > 0 && !rows.plan.entries.empty() && verified_only_trees_of(nodes_, rows))
    choice_.add_step(static_cast<int>(rows.plan.entries.size()), nodes_, clock_() - began_);
  for (const WalkSeq& seq : rows.walk.seqs) {
    int& nodes = granted_[at(seq.slot)];
    if (nodes > 0 && nodes == nodes_)
      choice_.add_tokens(nodes, static_cast<int>(seq.emitted.size()));
    nodes = 0;
  }
}

void Controller::propose(std::span<const SeqSlot> slots, std::span<const int> budget,
                         DraftTrees& trees) {
  const auto sequences = static_cast<int>(slots.size());
  nodes_ = sequences > 0 ? choice_.choose(sequences) : 0;
  budget_.assign(budget.begin(), budget.end());
  bool are_full = sequences > 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    are_full = are_full && budget_[i] >= nodes_;
    budget_[i] = std::min(budget_[i], nodes_);
    granted_[at(slots[i])] = budget_[i];
  }
  const double begin = clock_();
  drafter_->propose(slots, budget_, trees);
  began_ = clock_();
  if (are_full) choice_.add_growth(sequences, nodes_, began_ - begin);
}

}  // namespace foretoken
