#include "engine/scheduler.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace foretoken {

// Gets pages for everything that this step may append, and scratch slots for the drafter behind it.
// Returns how many nodes the tree may have; 0: the sequence is not computed.
// Where pages run short it gives up, in this order:
//   1. cached text that no sequence uses
//   2. the scratch slots
//   3. this sequence's own proposals
//   4. the youngest sequences, which are preempted: they have no entry in the plan yet
//   5. the request itself, when it runs alone
int Scheduler::make_room(Sequence& s) {
  int nodes = s.nodes;
  if (pages_.grow(s, s.stored + nodes + scratch_slots_)) return nodes;
  while (!pages_.grow(s, s.stored + nodes)) {
    if (nodes > 1) {
      const int room = static_cast<int>(s.pages.size()) * kPageTokens - s.stored;
      nodes = std::max(1, room);
    } else if (running_.size() == 1) {
      finish(s, FinishReason::kOutOfMemory,
             "The KV cache has no room for another token of this request.");
      return 0;
    } else {
      const bool is_itself = &running_.youngest() == &s;
      preempt(running_.youngest());
      if (is_itself) return 0;
    }
  }
  return nodes;
}

// The same while steps are in flight: pages for the most that they may store, and for the largest
// tree that they may grow. Only unused cached text is evicted for it, because the sequence may need
// less than that.
int Scheduler::make_room_ahead(Sequence& s) {
  const int nodes = s.in_flight > 0 ? max_nodes_ : s.nodes;
  if (pages_.grow(s, s.most_stored + nodes + scratch_slots_)) return nodes;
  if (pages_.grow(s, s.most_stored + nodes)) return nodes;
  wants_drain_ = true;
  return 0;
}

bool Scheduler::is_time_to_preempt() const {
  const int every = config_.force_preempt_every;
  return every > 0 && stats_.steps % static_cast<std::uint64_t>(every) == 0;
}

// Preempts a sequence that has sampled since its admission, so that all make progress.
void Scheduler::preempt_for_test() {
  if (!is_time_to_preempt()) return;
  const auto& running = running_.by_arrival();
  const auto victim =
      std::find_if(running.rbegin(), running.rend(), [](const auto& s) { return s->is_planted; });
  if (victim != running.rend()) preempt(**victim);
}

// The first that waits takes the place of running ones of later rank, the last of them first, where
// it needs their place and that is enough.
void Scheduler::make_way() {
  if (!config_.preemption_gap || waiting_.empty()) return;
  Sequence& first = waiting_.first();
  const auto gives_way = [&](const Sequence& s) {
    return s.request.rank > first.request.rank &&
           s.request.rank - first.request.rank > *config_.preemption_gap;
  };
  std::vector<Sequence*> victims;
  int held = 0;
  reserved_pages_ = 0;
  for (const auto& s : running_) {
    reserved_pages_ += reserved_pages(*s);
    if (!gives_way(*s)) continue;
    victims.push_back(s.get());
    held += static_cast<int>(s->pages.size()) + reserved_pages(*s);
  }
  if (victims.empty()) return;
  const auto has_place = [&] {
    return running_.has_free_slot() && fits(first, pages_.look_up(first));
  };
  if (has_place() || !fits(first, pages_.look_up(first), held)) return;
  wants_drain_ = is_ahead();
  if (wants_drain_) return;
  std::ranges::sort(victims, std::greater<>(), [](const Sequence* s) { return wait_place(*s); });
  for (Sequence* victim : victims) {
    if (has_place()) return;
    reserved_pages_ -= reserved_pages(*victim);
    preempt(*victim);
  }
}

void Scheduler::preempt(Sequence& s) {
  ++retracted_;
  retracted_tokens_ += static_cast<int>(s.pages.size()) * kPageTokens;
  ++stats_.retractions;
  release(s);
  s.preempted();
  running_.move_out(s, [&](std::unique_ptr<Sequence>& own) {
    roster_.waits(s, Clock::now());
    waiting_.add(own);
  });
}

}  // namespace foretoken
