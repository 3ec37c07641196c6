#pragma once
// Which sequence is admitted next, and how much memory is kept back for the running ones.
// Not the admission itself (slots, pages): that is the scheduler. The work of one step is bounded:
// it grows neither with the number of waiting sequences nor with their texts. Engine thread only.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/sequence.h"
#include "kv/radix_cache.h"

namespace foretoken {

// Of those that wait, the smaller stands before the larger.
struct WaitPlace {
  std::int64_t rank;
  std::uint64_t arrival;
  auto operator<=>(const WaitPlace&) const = default;
};
inline WaitPlace wait_place(const Sequence& s) { return {s.request.rank, s.arrival}; }

using WaitQueue = std::map<WaitPlace, std::unique_ptr<Sequence>>;

struct AdmissionPolicy {
  SchedulePolicy order = SchedulePolicy::kFcfs;
  std::uint64_t seed = 0;  // of kRandom, another for every step
};

// The sequences that stand first in the queue, a bounded number, in the order in which they should
// be admitted. `arrivals`: how many sequences have ever arrived.
//   fcfs:   as queued (preempted ones stand in front).
//   lpm:    longest cached prefix first, equals as queued.
//   random: in an order drawn from the seed.
// Under lpm and random, preempted ones and those that too many later arrivals have passed stand
// before all others, so that none starves.
std::vector<Sequence*> admission_order(const WaitQueue& queue, const AdmissionPolicy& policy,
                                       const RadixCache& cache, std::uint64_t arrivals);

// True when one of `computing`, running sequences whose prompts are not done, is computing a prefix
// of this prompt that is longer, in whole pages, than what the cache holds: waiting for it is
// cheaper than computing it twice.
bool prefix_is_coming(const Sequence& waiting, std::span<const Sequence* const> computing,
                      const RadixCache& cache);

// The share of the outputs still to come that admission keeps memory for. Starts careful, falls
// while all goes well, jumps to the observed need when running requests had to be preempted.
class OutputReserve {
 public:
  // Output tokens beyond `clip` are not planned for.
  explicit OutputReserve(int clip) : clip_(clip) {}

  double ratio() const { return ratio_; }
  // Tokens kept back for the rest of one request's output.
  int tokens(const Sequence& sequence) const;
  void relax();                                                      // after each decode step
  void tighten(std::span<const std::unique_ptr<Sequence>> running);  // after a preemption

 private:
  static constexpr double kInitial = 0.7;
  static constexpr double kLowest = 0.14 * kInitial;
  static constexpr double kStep = (kInitial - kLowest) / 600;
  int clip_;
  double ratio_ = kInitial;
};

}  // namespace foretoken
