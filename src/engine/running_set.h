#pragma once
// RunningSet: the sequences that hold a slot, and those that have just given theirs back.
// Not a policy: who enters and who leaves is decided by the scheduler; pages belong to
// SequencePages. Engine thread only.
// Invariants:
//   - a slot is free or holds one sequence
//   - the sequences are ordered by arrival: the youngest is the last
//   - one that has left lives until the step that closes its slot is retired, because steps in
//     flight may read its text

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/index.h"
#include "engine/sequence.h"

namespace foretoken {

class RunningSet {
 public:
  explicit RunningSet(int slots);

  const std::vector<std::unique_ptr<Sequence>>& by_arrival() const { return running_; }
  auto begin() const { return running_.begin(); }
  auto end() const { return running_.end(); }
  bool empty() const { return running_.empty(); }
  std::size_t size() const { return running_.size(); }
  Sequence& youngest() const { return *running_.back(); }
  Sequence* in_slot(SeqSlot slot) const { return by_slot_[at(slot)]; }  // null: it is free
  bool has_free_slot() const { return !free_slots_.empty(); }

  // Takes a free slot; there is one.
  SeqSlot take_slot();
  // A sequence that holds a slot of take_slot().
  void add(std::unique_ptr<Sequence> sequence);
  // Gives the slot of a sequence back. It stays in the list until drop_left() or move_out().
  void free_slot(const Sequence& sequence);
  // Takes those without a slot out of the list. `told_by`: the number of the step that closes their
  // slots.
  void drop_left(std::uint64_t told_by);
  // Hands a sequence without a slot to `take`, a function of std::unique_ptr<Sequence>&. Where that
  // throws, the sequence stays here.
  template <typename Take>
  void move_out(const Sequence& sequence, const Take& take) {
    const auto own = find(sequence);
    take(*own);
    running_.erase(own);
  }
  // Frees those whose step is retired.
  void free_left(std::uint64_t retired_steps);
  void clear();

  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  std::vector<std::unique_ptr<Sequence>>::iterator find(const Sequence& sequence);

  std::vector<std::unique_ptr<Sequence>> running_;
  std::vector<Sequence*> by_slot_;
  std::vector<SeqSlot> free_slots_;
  struct Left {
    std::uint64_t told_by;
    std::unique_ptr<Sequence> sequence;
  };
  std::deque<Left> left_;
};

}  // namespace foretoken
