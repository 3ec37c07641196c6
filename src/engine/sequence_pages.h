#pragma once
// SequencePages: which pages a running sequence holds: taken from the prefix cache, from the pool,
// or by evicting what the cache alone holds. It keeps SeqTable's page lists equal to the handles.
// Not a policy: who is admitted or preempted when pages run short is the scheduler's business.
// Engine thread only.

#include <string>
#include <vector>

#include "base/index.h"
#include "batch/batch.h"
#include "engine/sequence.h"
#include "kv/page_pool.h"
#include "kv/radix_cache.h"

namespace foretoken {

class SequencePages {
 public:
  SequencePages(PagePool& pool, RadixCache& cache, SeqTable& table)
      : pool_(pool), cache_(cache), table_(table) {}

  // Pages of the longest usable prefix of a waiting sequence's text.
  std::vector<Page> match(const Sequence& sequence);
  // What match() would find, at a cost that does not depend on the length of the text. It may err
  // where hashes of different texts are equal.
  struct Prospect {
    int pages = 0;
    int evictable = 0;  // of these, how many count as available
  };
  Prospect look_up(Sequence& sequence) const;
  // Marks that prefix used now, so that it stays for the one who waits.
  void touch(const Sequence& sequence, const Prospect& prospect);
  // Pages that could be had now.
  int available() const { return pool_.num_free() + cache_.evictable(); }

  // Gives a sequence its slot, with the matched pages as its stored prefix.
  void open(Sequence& sequence, SeqSlot slot, std::vector<Page> matched);
  // Makes its pages cover `tokens` tokens; false (and nothing taken) when there are not enough.
  bool grow(Sequence& sequence, int tokens);
  // Makes the full pages of what is stored findable for others. Copies of what the cache holds
  // already are exchanged for the cache's own pages.
  void publish(Sequence& sequence);
  // Publishes, gives all pages back and frees the slot entry in the table.
  void close(Sequence& sequence);
  // Empties cache and table, whatever state they are in; the sequences give their pages back
  // themselves. Allocates nothing.
  void forget_all();

  int used_tokens() const;    // in pages that some sequence holds
  int cached_tokens() const;  // in pages that only the cache holds

  // One sentence naming the first broken invariant of pool, cache, table and these sequences (all
  // that run), or empty.
  std::string check_integrity(const std::vector<const Sequence*>& running) const;

 private:
  PagePool& pool_;
  RadixCache& cache_;
  SeqTable& table_;
};

}  // namespace foretoken
