#pragma once
// WaitingSet: the sequences that wait for a slot, by rank and arrival, and how many rows of prompt
// they have to compute. Not an order of admission: that is admission.h. Engine thread only.
// Invariant: a waiting sequence holds neither a slot nor pages.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/admission.h"
#include "engine/sequence.h"

namespace foretoken {

class WaitingSet {
 public:
  const WaitQueue& queue() const { return queue_; }
  bool empty() const { return queue_.empty(); }
  std::size_t size() const { return queue_.size(); }
  Sequence& first() const { return *queue_.begin()->second; }
  // The last that has never run; null: all have.
  Sequence* last_new() const;
  std::int64_t pending_rows() const { return rows_; }  // of all of them

  // Where it throws, the sequence stays with the caller.
  void add(std::unique_ptr<Sequence>& sequence);
  std::unique_ptr<Sequence> take(const Sequence& sequence);
  WaitQueue take_all();  // allocates nothing

  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  WaitQueue queue_;
  std::int64_t rows_ = 0;
};

}  // namespace foretoken
