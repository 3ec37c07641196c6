#include "engine/roster.h"

#include <algorithm>

#include "base/error.h"

namespace foretoken {
namespace {

bool is_choice_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void Roster::add(Sequence& s) {
  const bool is_new = by_arrival_.emplace(s.arrival, &s).second;
  CHECK(is_new) << "arrival " << s.arrival << " was given twice";
  if (!s.request.id.empty()) by_id_.emplace(s.request.id, s.arrival);
  if (s.request.deadline) due_.insert({*s.request.deadline, s.arrival, Limit::kDeadline});
  if (s.request.stream) s.request.stream->report_cancel_to(cancelled_, s.arrival);
}

void Roster::remove(Sequence& s) {
  end_phase(s);
  if (s.request.deadline) due_.erase({*s.request.deadline, s.arrival, Limit::kDeadline});
  if (!s.request.id.empty()) by_id_.erase({s.request.id, s.arrival});
  by_arrival_.erase(s.arrival);
}

void Roster::waits(Sequence& s, Clock::time_point now) {
  begin_phase(s, Limit::kWaiting, limits_.waiting, now);
}

void Roster::runs(Sequence& s, Clock::time_point now) {
  begin_phase(s, Limit::kRunning, limits_.running, now);
}

void Roster::begin_phase(Sequence& s, Limit limit, Clock::duration length, Clock::time_point now) {
  end_phase(s);
  if (length <= Clock::duration::zero()) return;
  const Due due{now + length, s.arrival, limit};
  due_.insert(due);
  phases_.emplace(s.arrival, due);
}

void Roster::end_phase(const Sequence& s) {
  const auto phase = phases_.find(s.arrival);
  if (phase == phases_.end()) return;
  due_.erase(phase->second);
  phases_.erase(phase);
}

std::vector<Sequence*> Roster::named(const std::string& id) const {
  std::vector<Sequence*> found;
  const auto collect = [&](std::string_view name) {
    for (auto it = by_id_.lower_bound({name, 0}); it != by_id_.end() && it->first == name; ++it)
      found.push_back(by_arrival_.at(it->second));
  };
  if (id.empty()) return found;
  collect(id);
  const std::string stem = id + '_';
  for (auto it = by_id_.lower_bound({stem, 0}); it != by_id_.end() && it->first.starts_with(stem);
       ++it)
    if (is_choice_number(it->first.substr(stem.size())))
      found.push_back(by_arrival_.at(it->second));
  return found;
}

std::vector<Sequence*> Roster::take_cancelled() {
  std::vector<Sequence*> found;
  for (const std::uint64_t arrival : cancelled_->take())
    if (const auto s = by_arrival_.find(arrival); s != by_arrival_.end())
      found.push_back(s->second);
  return found;
}

std::optional<Roster::Overdue> Roster::next_overdue(Clock::time_point now) const {
  static constexpr const char* kMessages[] = {
      "The request's deadline passed before it was finished.", "Request waiting timeout reached.",
      "Request running timeout reached."};
  if (due_.empty() || due_.begin()->time > now) return std::nullopt;
  const Due& due = *due_.begin();
  return Overdue{by_arrival_.at(due.arrival), kMessages[static_cast<int>(due.limit)]};
}

std::string Roster::check_integrity() const {
  for (const auto& [id, arrival] : by_id_)
    if (!by_arrival_.contains(arrival)) return "id " + std::string(id) + " leads to nobody";
  for (const Due& due : due_)
    if (!by_arrival_.contains(due.arrival)) return "a deadline is nobody's";
  for (const auto& [arrival, due] : phases_)
    if (!due_.contains(due)) return "a limit of a phase is not due";
  return {};
}

}  // namespace foretoken
