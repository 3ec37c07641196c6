#include "spec/ngram_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Of prompts, tokens that are read in a step beside as many as the step computes: reading one takes
// a few microseconds.
constexpr int kReadPerStep = 256;
constexpr std::size_t kEnd = 256;             // tokens of a prompt that are read first
constexpr std::size_t kKeptTokens = 1 << 14;  // of memory for texts, by sequence
constexpr float kMemory = 0.9F;               // of a sequence's trees, per tree
constexpr float kUsualTokens = 2;             // that odds are taken at their word for, at first
constexpr float kSure = 0.8F;                 // drafts that are offered where drafting did not pay

}  // namespace

NgramDrafter::NgramDrafter(const NgramOptions& options, int nodes, int num_slots,
                           std::unique_ptr<DraftPace> pace)
    : isolation_(options.isolation),
      nodes_(nodes),
      trie_(options.capacity, options.max_depth),
      growth_(options.shape),
      pace_(std::move(pace)),
      sequences_(at(num_slots)) {}

DraftNeeds NgramDrafter::needs() const {
  return {.taps = {}, .max_nodes = nodes_, .host_tokens = true};
}

void NgramDrafter::open(SeqSlot slot, std::span<const Token> tokens, std::uint64_t scope) {
  pace_->open(slot);
  if (sequences_.size() <= at(slot)) sequences_.resize(at(slot) + 1);
  Sequence& sequence = sequences_[at(slot)];
  CHECK(!sequence.is_open) << "slot " << slot << " was opened twice";
  if (isolation_ == DraftIsolation::kShared) scope = 0;
  if (isolation_ == DraftIsolation::kRequest) scope = ++opened_;
  sequence.end.start(scope);
  sequence.early.start(scope);
  sequence.text.assign(tokens.begin(), tokens.end());
  sequence.end_at = tokens.size() - std::min(tokens.size(), kEnd);
  // As far as runs that begin there reach.
  sequence.early_at = 0;
  sequence.early_end =
      sequence.end_at == 0 ? 0 : std::min(tokens.size(), sequence.end_at + at(trie_.max_depth()));
  sequence.offered.clear();
  sequence.promised = sequence.accepted = 0;
  unread_.push_back(slot);
  sequence.is_open = true;
}

void NgramDrafter::close(SeqSlot slot) {
  Sequence& sequence = sequences_[at(slot)];
  sequence.is_open = false;
  sequence.drop_text();
  std::erase(unread_, slot);
}

// ---- what was committed

void NgramDrafter::observe(const CommittedRows& rows) {
  pace_->observe(rows);
  int computed = 0;
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const WalkSeq& found = rows.walk.seqs[i];
    const BatchSeq& seq = rows.batch.seqs[i];
    computed += seq.chain;
    if (found.path.empty()) continue;
    Sequence& sequence = sequences_[at(found.slot)];
    learn(sequence, found.path, seq.rows - seq.chain);
    commit(sequence, found.emitted);
  }
  read_texts(kReadPerStep + computed);
}

void NgramDrafter::commit(Sequence& sequence, std::span<const SampledToken> emitted) {
  for (const SampledToken& token : emitted)
    if (sequence.knows_its_end())
      trie_.append(sequence.end, token.token);
    else
      sequence.text.push_back(token.token);
}

// nodes: of the tree as it was verified, which may have lost its last ones.
void NgramDrafter::learn(Sequence& sequence, std::span<const std::int32_t> path, int nodes) {
  std::uint64_t accepted = 0;
  for (const std::int32_t node : path) accepted |= std::uint64_t{1} << node;
  const auto is_accepted = [&](int node) { return (accepted >> node & 1) != 0; };
  const std::size_t verified = std::min(sequence.offered.size(), at(nodes - 1));
  if (verified > 0) {
    sequence.promised *= kMemory;
    sequence.accepted = sequence.accepted * kMemory + static_cast<float>(path.size() - 1);
  }
  for (std::size_t i = 0; i < verified; ++i) {
    const Offered& offered = sequence.offered[i];
    sequence.promised += offered.score;
    if (is_accepted(offered.parent)) odds_.add(offered.kind, is_accepted(static_cast<int>(i) + 1));
  }
  sequence.offered.clear();
}

// ---- reading

// The ends of all texts before the beginning of any.
void NgramDrafter::read_texts(int tokens) {
  if (unread_.empty()) return;
  for (const SeqSlot slot : unread_) {
    Sequence& sequence = sequences_[at(slot)];
    for (; tokens > 0 && !sequence.knows_its_end(); --tokens)
      trie_.append(sequence.end, sequence.text[sequence.end_at++]);
  }
  for (const SeqSlot slot : unread_) {
    Sequence& sequence = sequences_[at(slot)];
    for (; tokens > 0 && sequence.early_at < sequence.early_end; --tokens)
      trie_.append(sequence.early, sequence.text[sequence.early_at++]);
  }
  std::erase_if(unread_, [&](SeqSlot slot) {
    Sequence& sequence = sequences_[at(slot)];
    if (!sequence.is_read()) return false;
    sequence.drop_text();
    return true;
  });
}

// It is read, or nobody waits for it any more.
void NgramDrafter::Sequence::drop_text() {
  if (text.capacity() > kKeptTokens)
    text = {};
  else
    text.clear();
  early_at = early_end = end_at = 0;
}

// ---- trees

void NgramDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Sequence& sequence = sequences_[at(slots[i])];
    const int most = std::min(limits[i].nodes, nodes_) - 1;
    if (most > 0 && sequence.knows_its_end())
      offer(slots[i], growth_.grow(trie_, sequence.end, most, limits[i].depth), trees);
  }
  pace_->end_growth();
}

void NgramDrafter::offer(SeqSlot slot, std::span<const NgramDraft> drafts, DraftTrees& trees) {
  Sequence& sequence = sequences_[at(slot)];
  const float trust = (sequence.accepted + kUsualTokens) / (sequence.promised + kUsualTokens);
  const float least =
      pace_->rests(slot) ? std::max(kSure, pace_->least_score()) : pace_->least_score();
  node_.assign(drafts.size(), -1);
  score_.resize(drafts.size());
  double promised = 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const NgramDraft& draft = drafts[i];
    const int parent = draft.parent < 0 ? 0 : node_[at(draft.parent)];
    if (parent < 0) continue;
    const MatchOdds::Kind kind = MatchOdds::kind_of(draft.context, draft.share);
    const float before = draft.parent < 0 ? trust : score_[at(draft.parent)];
    score_[i] = std::min(1.0F, before * odds_.chance(kind));
    if (score_[i] < least) {
      odds_.neglect(kind);
      continue;
    }
    node_[i] = trees.grow(slot, parent, draft.token);
    sequence.offered.push_back({parent, kind, score_[i]});
    promised += static_cast<double>(score_[i]);
  }
  if (!sequence.offered.empty()) pace_->plant(slot, promised, 0);
}

}  // namespace foretoken
