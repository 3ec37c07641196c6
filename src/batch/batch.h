#pragma once
// The plain data of one step, structure of arrays.
//   StepPlan   what the scheduler wants computed: for each sequence a chain of prompt tokens
//              and/or its tree
//   SeqTable   facts about running sequences by slot (length, pages); the walk updates it
//   Batch      the rows derived from both by StepOps::layout: what kernels read
//   Walk       what sampling found: emitted tokens, accepted nodes
// Not behaviour: no methods that compute. A prompt chunk is a chain of rows; when it is the last
// one, its last token is the root of the sequence's tree. So `chain` holds rows nobody samples and
// the tree all the rest. The engine thread owns all of them.

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "batch/sampling.h"
#include "batch/token_constraint.h"
#include "batch/tree.h"

namespace foretoken {

// The part of a step that concerns one sequence. Spans point into the Sequence and live through the
// step.
struct StepEntry {
  SeqSlot slot = -1;
  std::uint64_t owner = 0;  // number of the sequence in the slot, for readers of the result
  std::span<const Token> chain = {};  // prompt tokens at positions length .. length + size() - 1
  bool has_tree = false;  // trees.size(slot) nodes follow the chain, root at length + chain.size()
  Token root = kNoToken;  // of a new tree, where prompt text ends; kNoToken: the tree stands
  int max_nodes = kMaxTreeNodes;  // there is room for; what the tree has beyond is cut off
  int score_from =
      -1;  // first chain row whose next token gets a logprob (input logprobs); -1: none
  Token after_chain = kNoToken;  // the token that follows the last chain row (known: prompt text)
  int hidden_from = -1;          // first position whose hidden state is wanted; -1: none
  const SamplingParams* params = nullptr;
  const TokenCounts* counts = nullptr;
  TokenConstraint* constraint = nullptr;  // behind the root; the walk moves it. Null: any text
  bool wants_foreseen = false;            // by the constraint, in WalkSeq
  int generated = 0;                      // tokens generated before this step
  int tokens_left = 1;  // tokens that may still be generated, those of this step included
  // Where the states of the sequence go once the step has completed a block; -1: nowhere.
  std::int32_t snapshot = -1;
};

struct StepPlan {
  std::vector<StepEntry> entries;
  int prompt_tokens = 0;  // rows in chains and in roots that are prompt tokens, for the log
};

// Per-slot facts. length counts committed tokens whose KV is stored; pages[slot] covers at least
// length plus everything the step appends. state[slot]: which of the slot's pages of states is in
// use.
struct SeqTable {
  explicit SeqTable(int slots)
      : length(static_cast<std::size_t>(slots), 0), pages(static_cast<std::size_t>(slots)) {}
  std::vector<std::int32_t> length;
  std::vector<std::vector<PageId>> pages;
  std::vector<std::uint8_t> state = std::vector<std::uint8_t>(length.size());  // 0, 1: in use
};

// The rows of one sequence inside a batch. Its rows are contiguous: chain first, then tree nodes.
// Row i of the sequence is stored at slot index base + i of the sequence's own page list.
struct BatchSeq {
  SeqSlot slot;
  std::int32_t first_row;
  std::int32_t rows;
  std::int32_t base;        // committed tokens with KV before this step
  std::int32_t chain;       // rows that are chain; rows - chain are tree nodes
  std::int32_t first_page;  // into Batch::pages
  std::int32_t num_pages;
  bool is_chain;  // the tree is a path too, so slot index == position for all rows
  // Slots before this one hold nothing: no row sees them, but that a row which is stored there sees
  // itself. Drafters that read features leave slot 0 empty, because no feature precedes the first
  // token.
  std::int32_t first_slot = 0;
  // Of layers that keep a state: the page of the block of `base`; the slot's other one is
  // state_page ^ 1 (state_blocks.h).
  std::int32_t state_page = 0;
};

struct Batch {
  int rows = 0;
  std::vector<BatchSeq> seqs;
  std::vector<PageId> pages;  // page lists of all sequences, concatenated
  // per row
  std::vector<Token> token;
  std::vector<std::int32_t> position;  // absolute, = RoPE position
  std::vector<std::int32_t> seq;       // index into seqs
  std::vector<std::int32_t> kv_slot;   // page * kPageTokens + offset; -1: do not store
  std::vector<std::uint64_t> mask;     // tree rows: ancestors-and-self by node; chain rows: 0
  // rows whose logits somebody wants, ascending
  std::vector<std::int32_t> logit_rows;

  // Empty, the vectors keep their capacity.
  void clear() {
    clear_rows();
    pages.clear();
  }
  // The same but for the page lists, which other rows may refer to.
  void clear_rows() {
    rows = 0;
    seqs.clear();
    token.clear();
    position.clear();
    seq.clear();
    kv_slot.clear();
    mask.clear();
    logit_rows.clear();
  }
};

// What one sequence got out of a step.
struct WalkSeq {
  SeqSlot slot;
  std::vector<std::int32_t> path;  // accepted nodes, root first (empty when the entry has no tree)
  std::vector<SampledToken>
      emitted;  // path.size() tokens: one per visited node, the last is the bonus
  // Of the constraint: the last emitted token completes the text; or it is no part of it, because
  // nothing could be sampled there.
  bool is_complete = false, is_stuck = false;
  bool is_void = false;         // the last emitted token is no token: the model gave no numbers
  std::vector<Token> foreseen;  // what the constraint lets expect after the last emitted token
  std::vector<SampledToken> scored;  // input logprobs of chain rows from score_from on
  // Of the chain and of the path behind it, from the position hidden_from on.
  std::vector<std::vector<float>> hidden = {};
};

struct Walk {
  std::vector<WalkSeq> seqs;  // in the order of StepPlan::entries
};

}  // namespace foretoken
