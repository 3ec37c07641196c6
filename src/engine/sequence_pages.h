#pragma once
// SequencePages: which pages a running sequence holds: taken from the prefix cache, from the pool,
// or by evicting what the cache alone holds. What it lists for the next step keeps SeqTable's page
// lists equal to the handles. A page that is given up may be taken at once: its next owner writes
// it in a later step than the last one that reads it.
// Not a policy: who is admitted or preempted when pages run short is the scheduler's business.
// Engine thread only.

#include <string>
#include <vector>

#include "base/index.h"
#include "batch/batch.h"
#include "engine/sequence.h"
#include "engine/slot_change.h"
#include "kv/page_pool.h"
#include "kv/radix_cache.h"

namespace foretoken {

class SequencePages {
 public:
  // changes: what the next step is told; page lists are added to it.
  SequencePages(PagePool& pool, RadixCache& cache, std::vector<SlotChange>& changes)
      : pool_(pool), cache_(cache), changes_(changes) {}

  // Pages of the longest usable prefix of a waiting sequence's text.
  std::vector<Page> match(const Sequence& sequence);
  // What match() would find, at a cost that does not depend on the length of the text. It may err
  // where hashes of different texts are equal.
  struct Prospect {
    int pages = 0;
    int evictable = 0;  // of these, how many count as available
  };
  Prospect look_up(Sequence& sequence) const;
  // Marks that prefix used now, so that it is not evicted while the sequence waits.
  void touch(const Sequence& sequence, const Prospect& prospect);
  // Pages that could be had now.
  int available() const { return pool_.num_free() + cache_.evictable(); }

  // Where a text's match ends in front of what is cached of it, because no state was kept: how many
  // tokens of it are cached, whole blocks of states.
  int branch_of(const Sequence& sequence) const;

  // Gives a sequence its slot, with the matched pages as its stored prefix.
  void open(Sequence& sequence, SeqSlot slot, std::vector<Page> matched);
  // Makes its pages cover `tokens` tokens; false (and nothing taken) when there are not enough.
  bool grow(Sequence& sequence, int tokens);
  // A snapshot for the entry of a step that may complete a block of states.
  void plan_states(Sequence& sequence, int stored_before, StepEntry& entry);
  // The step has written it: states behind so many tokens, or none.
  void take_states(Sequence& sequence, int tokens);
  // Makes the full pages of what is stored findable for others. Copies of what the cache holds
  // already are exchanged for the cache's own pages.
  void publish(Sequence& sequence);
  // Publishes and gives all pages back.
  void close(Sequence& sequence);

  int used_tokens() const;    // in pages that some sequence holds
  int cached_tokens() const;  // in pages that only the cache holds

  // One sentence naming the first broken invariant of pool, cache and these sequences (all that
  // run), or empty. table: what the device has, with the changes; null: it is ahead.
  std::string check_integrity(const std::vector<const Sequence*>& running,
                              const SeqTable* table) const;

 private:
  void publish_states(Sequence& sequence);
  void list(const Sequence& sequence, std::size_t first, std::size_t end);

  PagePool& pool_;
  RadixCache& cache_;
  std::vector<SlotChange>& changes_;
};

}  // namespace foretoken
