#pragma once
// Sequence: one accepted request on its way through the engine: its text so far, its pages while it
// runs, and what its consumer has been told. Waiting and running sequences are the same object; a
// preempted one keeps its text and loses slot and pages. Not a state machine with modes: what a
// step computes follows from `stored` alone. Engine thread only.
// Invariant while running: stored < tokens.size(), and pages cover the first `stored` tokens.
// Once accepted it never goes without a finish: one that ends otherwise, because memory ran out in
// the middle of something, tells its consumer so from its destructor.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "batch/batch.h"
#include "engine/request.h"
#include "engine/shared_tokens.h"
#include "kv/page_pool.h"
#include "kv/prefix_hashes.h"

namespace foretoken {

class Sequence {
 public:
  // Hashes the prompt, so whoever submits should make it, not the engine thread.
  explicit Sequence(Request accepted, std::uint64_t arrival = 0);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  Request request;             // its prompt has moved to `tokens`
  std::uint64_t arrival;       // order of submission; the oldest has the smallest
  SharedTokens tokens;         // prompt, then output
  PrefixHashes hashes;         // of the prompt at least
  bool is_accepted = false;    // its consumer waits for a finish
  int cached_pages_guess = 0;  // what the prefix cache held of it when it was last asked

  // While it runs.
  SeqSlot slot = -1;
  std::vector<Page> pages;
  int published_pages = 0;  // leading pages that are the prefix cache's own, where there is one
  int stored = 0;           // tokens whose KV is stored
  bool is_planted = false;  // its tree of the next step is in place, proposals included
  TokenCounts counts;       // kept only for requests with penalties

  int prompt_tokens() const { return prompt_tokens_; }
  int size() const { return static_cast<int>(tokens.size()); }
  int generated() const { return size() - prompt_tokens(); }
  int tokens_left() const { return request.max_new_tokens - generated(); }
  int retractions() const { return delta_.retractions; }
  int accepted_drafts() const { return delta_.accepted_drafts; }
  int verify_steps() const { return delta_.verify_steps; }
  bool has_news() const { return !delta_.tokens.empty() || !delta_.prompt_scores.empty(); }
  bool is_running() const { return slot >= 0; }
  bool samples() const { return request.max_new_tokens > 0; }

  // Rows between what is stored and the root of its next tree, that root included; a request that
  // samples nothing has no root and needs no row for its last token.
  int pending_rows() const { return size() - stored - (samples() ? 0 : 1); }

  // How many leading tokens may come from the prefix cache: every row that is sampled or scored
  // must be computed.
  int reusable_tokens() const;
  bool is_scoring() const { return next_score_ < prompt_tokens(); }
  // Pending rows before the first that is scored; only for one that is scoring.
  int rows_before_scores() const { return std::max(0, next_score_ - 1 - stored); }

  // Null: any text may follow. Valid as long as the sequence.
  TokenConstraint* constraint() const { return constraint_.get(); }

  // The entry of a step that computes the first `rows` pending rows.
  StepEntry make_entry(int rows) const;

  // Takes over what a step found out about it. Cuts what was sampled beyond the end of the output;
  // returns the reason when the output is complete.
  std::optional<Finish> commit(const StepEntry& entry, WalkSeq& walk);

  // `cached` tokens came from the prefix cache. True when it is admitted for the first time. What
  // only a running one needs is made here and dropped by preempted().
  bool admitted(int cached);
  void offered(int drafts);                 // proposals that go into a step
  void drafted(const DraftReport& report);  // what became of drafts while it ran
  void preempted();

  // What happened since the last call, with all totals.
  TokenDelta take_delta();
  TokenDelta take_last_delta(Finish finish);

 private:
  void commit_scores(const StepEntry& entry, WalkSeq& walk);
  std::optional<Finish> commit_token(SampledToken&& sampled);

  int prompt_tokens_;
  int next_score_;    // first prompt position whose logprob is still to be reported
  TokenDelta delta_;  // not pushed yet; its counters are totals
  std::vector<int> accept_histogram_;
  bool was_admitted_ = false;
  std::unique_ptr<TokenConstraint> constraint_;  // behind the last token; null: any text
};

}  // namespace foretoken
