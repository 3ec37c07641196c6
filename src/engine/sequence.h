#pragma once
// Sequence: one accepted request on its way through the engine: its text so far, its pages while it
// runs, and what its consumer has been told. Engine thread only.
//   - Waiting and running sequences are the same object; a preempted one keeps its text and loses
//     slot and pages.
//   - It has no modes: what a step computes follows from how much is stored, and how much is
//     planned.
//   - While its steps are in flight, its prompt is planned further than it is stored, and of its
//     output only a bound is known.
// Invariants:
//   - while running: stored < tokens.size(), and pages cover the first `stored` tokens
//   - an accepted sequence sends exactly one finish; where memory ran out in the middle of
//     something, its destructor does

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/shared_tokens.h"
#include "batch/batch.h"
#include "engine/request.h"
#include "kv/page_pool.h"
#include "kv/prefix_hashes.h"

namespace foretoken {

class Sequence {
 public:
  // Hashes the prompt: to be made on the thread that submits, not on the engine thread.
  explicit Sequence(Request accepted, std::uint64_t arrival = 0);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // The stream's last delta, if there was none yet; nothing else changes.
  void end_stream(FinishReason reason, std::string_view message) const;

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
  int branch = 0;           // a chunk of its prompt ends here: other texts begin so, too
  bool is_planted = false;  // its tree of the next step is in place, proposals included
  int nodes = 1;            // of that tree, while no step of it is in flight
  DraftReport drafts;       // what became of drafts since it got its slot

  // Of layers that keep a state: the newest that was kept of its text, and what the steps in
  // flight write to.
  struct States {
    Page snapshot = {};
    int tokens = 0;  // behind these
  };
  States states;
  std::deque<Page> snapshots;

  // How far it is planned; as far as it is, while no step of it is in flight.
  int planned = 0;          // prompt rows that are stored then
  int most_stored = 0;      // tokens that are stored then, at most
  bool is_rooted = false;   // all rows of its prompt are planned
  int in_flight = 0;        // its steps
  int trees_in_flight = 0;  // those that sample

  int prompt_tokens() const { return prompt_tokens_; }
  int size() const { return static_cast<int>(tokens.size()); }
  int generated() const { return size() - prompt_tokens(); }
  int tokens_left() const { return request.max_new_tokens - generated(); }
  int retractions() const { return delta_.retractions; }
  int accepted_drafts() const { return delta_.accepted_drafts; }
  int verify_steps() const { return delta_.verify_steps; }
  bool has_news() const {
    return !delta_.tokens.empty() || !delta_.prompt_scores.empty() || !delta_.hidden.empty();
  }
  bool is_running() const { return slot >= 0; }
  bool samples() const { return request.max_new_tokens > 0; }

  // Rows of its text that are not planned, that of its last token, the root of its first tree,
  // included; a request that samples nothing has no root and needs no row for its last token. None
  // of a rooted one.
  int pending_rows() const { return is_rooted ? 0 : size() - planned - (samples() ? 0 : 1); }
  // Whether the steps in flight complete its output in any case.
  bool is_sure_to_end() const {
    return is_rooted && generated() + trees_in_flight >= request.max_new_tokens;
  }

  // How many leading tokens may come from the prefix cache: every row that is sampled, scored or
  // shown must be computed.
  int reusable_tokens() const;
  bool is_scoring() const { return planned_score() < prompt_tokens(); }
  // Pending rows before the first that is scored; only for one that is scoring.
  int rows_before_scores() const { return planned_score() - 1 - planned; }

  // Null: any text may follow. Valid as long as the sequence.
  TokenConstraint* constraint() const { return constraint_.get(); }

  // The entry of a step: plan_prompt computes the first `rows` pending rows; plan_tree, for a
  // rooted sequence, its tree of at most `max_nodes` nodes. Step adds what it knows of the slot.
  StepEntry plan_prompt(int rows);
  StepEntry plan_tree(int max_nodes);

  // Takes over what the oldest step in flight found out about it. Cuts what was sampled beyond the
  // end of the output; returns the reason when the output is complete.
  std::optional<Finish> commit(const StepEntry& entry, WalkSeq& walk);

  // `cached` tokens came from the prefix cache. True when it is admitted for the first time. What
  // only a running one needs is made here and dropped by preempted().
  bool admitted(int cached);
  void entered(int stored_tokens);  // it got a slot; its pages hold `stored_tokens` tokens
  void offered(int drafts);         // proposals that went into a step
  // What the step that has brought the last `tokens` of the output has verified.
  void traced(DraftTrace trace, int tokens);
  void left();  // it gave its slot back
  void preempted();

  // What happened since the last call, with all totals.
  TokenDelta take_delta();  // where it throws, nothing was taken
  TokenDelta take_last_delta(Finish finish);

 private:
  TokenDelta take_totals();
  // First prompt position whose logprob is not planned.
  int planned_score() const { return std::max(next_score_, planned + 1); }
  void commit_scores(const StepEntry& entry, WalkSeq& walk);
  void commit_hidden(const StepEntry& entry, WalkSeq& walk, int first_stored);
  std::optional<Finish> commit_token(SampledToken&& sampled);

  int prompt_tokens_;
  int next_score_;    // first prompt position whose logprob is still to be reported
  int next_hidden_;   // first position whose hidden state is still to be sent; -1: none is
  TokenDelta delta_;  // not pushed yet; its counters are totals
  std::vector<int> accept_histogram_;
  bool was_admitted_ = false;
  std::unique_ptr<TokenConstraint> constraint_;  // behind the last token; null: any text
};

}  // namespace foretoken
