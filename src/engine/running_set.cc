#include "engine/running_set.h"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

bool arrived_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) {
  return a->arrival < b->arrival;
}

}  // namespace

RunningSet::RunningSet(int slots) : by_slot_(at(slots), nullptr) {
  running_.reserve(by_slot_.size());
  for (SeqSlot slot = slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

SeqSlot RunningSet::take_slot() {
  const SeqSlot slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void RunningSet::add(std::unique_ptr<Sequence> s) {
  by_slot_[at(s->slot)] = s.get();
  const auto place = std::upper_bound(running_.begin(), running_.end(), s, arrived_before);
  running_.insert(place, std::move(s));
}

void RunningSet::free_slot(const Sequence& s) {
  by_slot_[at(s.slot)] = nullptr;
  free_slots_.push_back(s.slot);
}

void RunningSet::drop_left(std::uint64_t told_by) {
  for (auto& s : running_)
    if (!s->is_running()) left_.push_back({told_by, std::move(s)});
  std::erase(running_, nullptr);
}

void RunningSet::free_left(std::uint64_t retired_steps) {
  while (!left_.empty() && left_.front().told_by <= retired_steps) left_.pop_front();
}

void RunningSet::clear() {
  running_.clear();
  left_.clear();
}

std::vector<std::unique_ptr<Sequence>>::iterator RunningSet::find(const Sequence& s) {
  return std::find_if(running_.begin(), running_.end(),
                      [&](const auto& running) { return running.get() == &s; });
}

std::string RunningSet::check_integrity() const {
  for (const auto& s : running_)
    if (by_slot_[at(s->slot)] != s.get())
      return "slot " + std::to_string(s->slot) + " does not lead to its sequence";
  if (running_.size() + free_slots_.size() != by_slot_.size())
    return "a slot is neither free nor in use";
  if (!std::is_sorted(running_.begin(), running_.end(), arrived_before))
    return "sequences are not in the order of arrival";
  return {};
}

}  // namespace foretoken
