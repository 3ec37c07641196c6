#pragma once
// Who is admitted next, and how much memory is kept back for those who run already.
// Not the admission itself (slots, pages): that is the scheduler. Engine thread only.

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/sequence.h"
#include "kv/radix_cache.h"

namespace foretoken {

using WaitQueue = std::deque<std::unique_ptr<Sequence>>;

// The waiting sequences in the order in which they should be admitted.
//   fcfs: as queued (preempted ones stand in front).
//   lpm:  longest cached prefix first, equals as queued; preempted ones, and those that too many
//         later arrivals have passed, before all others, so that nobody starves.
std::vector<Sequence*> admission_order(const WaitQueue& queue, SchedulePolicy policy,
                                       const RadixCache& cache);

// True when a running sequence is computing a prefix of this prompt that is longer, in whole pages,
// than what the cache holds: waiting for it is cheaper than computing it twice.
bool prefix_is_coming(const Sequence& waiting, std::span<const std::unique_ptr<Sequence>> running,
                      const RadixCache& cache);

// The share of the outputs still to come that admission keeps memory for. Starts careful, falls
// while all goes well, jumps to the observed need when running requests had to be preempted.
class OutputReserve {
 public:
  double ratio() const { return ratio_; }
  // Tokens kept back for the rest of one request's output.
  int tokens(const Sequence& sequence) const;
  void relax();                                                      // after each decode step
  void tighten(std::span<const std::unique_ptr<Sequence>> running);  // after a preemption

 private:
  double ratio_ = kInitial;
  static constexpr double kInitial = 0.7;
  static constexpr double kLowest = 0.14 * kInitial;
  static constexpr double kStep = (kInitial - kLowest) / 600;
};

}  // namespace foretoken
