#include "engine/scheduler.h"

namespace foretoken {

// What it has once it makes the changes.
std::string Scheduler::check_device(Step& step) const {
  for (const auto& s : running_) {
    if (!s->is_planted) continue;
    const auto tokens = step.trees().tokens(s->slot);
    if (auto fault = tree_fault(tokens, step.trees().parents(s->slot)); !fault.empty())
      return "tree of slot " + std::to_string(s->slot) + ": " + fault;
    if (tokens[0] != s->tokens.back())
      return "tree of slot " + std::to_string(s->slot) + ": its root is not the last token";
    if (static_cast<int>(tokens.size()) != s->nodes)
      return "tree of slot " + std::to_string(s->slot) + ": its size was reported wrongly";
  }
  return {};
}

std::string Scheduler::check_integrity(Step* step) const {
  std::vector<const Sequence*> running;
  for (const auto& s : running_) running.push_back(s.get());
  if (auto fault = running_.check_integrity(); !fault.empty()) return fault;
  if (auto fault = waiting_.check_integrity(); !fault.empty()) return fault;
  if (roster_.size() != running_.size() + waiting_.size())
    return "the roster holds others than those that wait or run";
  if (auto fault = roster_.check_integrity(); !fault.empty()) return fault;
  if (step == nullptr || is_ahead()) return pages_.check_integrity(running, nullptr);
  if (auto fault = check_device(*step); !fault.empty()) return fault;
  SeqTable table = step->table();
  for (const SlotChange& change : changes_) apply(change, table);
  return pages_.check_integrity(running, &table);
}

}  // namespace foretoken
