#pragma once
// Roster: every request that was accepted and has not ended, waiting or running, by what may end it
// from outside: its id, its deadlines, its consumer's cancellation. So a step looks at the requests
// that are due, not at all of them. It ends none itself: that is the scheduler. Engine thread only.
// Invariant: it points to exactly those that were added and not removed.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/cancel_box.h"
#include "engine/sequence.h"

namespace foretoken {

class Roster {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a request may wait, and how long it may run since it was admitted last; zero: as long
  // as it takes.
  struct Limits {
    Clock::duration waiting{0};
    Clock::duration running{0};
  };

  explicit Roster(const Limits& limits) : limits_(limits) {}

  // The sequence keeps its address, its arrival and its id until it is removed.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);
  // It waits, or runs, from now on.
  void waits(Sequence& sequence, Clock::time_point now);
  void runs(Sequence& sequence, Clock::time_point now);

  // That id, or ids "<id>_<n>" of its choices. In the order of the ids.
  std::vector<Sequence*> named(const std::string& id) const;
  // Whose consumers have gone since the last call.
  std::vector<Sequence*> take_cancelled();
  struct Overdue {
    Sequence* sequence;
    const char* message;  // one sentence
  };
  // One whose time is over; the same again until it is removed.
  std::optional<Overdue> next_overdue(Clock::time_point now) const;

  std::size_t size() const { return by_arrival_.size(); }
  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  // A sequence has at most one limit of its own and one of its phase.
  enum class Limit { kDeadline, kWaiting, kRunning };
  struct Due {
    Clock::time_point time;
    std::uint64_t arrival;
    Limit limit;
    auto operator<=>(const Due&) const = default;
  };
  void begin_phase(Sequence& sequence, Limit limit, Clock::duration length, Clock::time_point now);
  void end_phase(const Sequence& sequence);

  const Limits limits_;
  std::unordered_map<std::uint64_t, Sequence*> by_arrival_;
  std::set<std::pair<std::string_view, std::uint64_t>> by_id_;  // those that have an id
  std::set<Due> due_;
  std::unordered_map<std::uint64_t, Due> phases_;  // by arrival: what of due_ its phase brought
  const std::shared_ptr<CancelBox> cancelled_ = std::make_shared<CancelBox>();
};

}  // namespace foretoken
