#include "draft/from_text/ngram/ngram_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Of prompts, tokens that are read in a step beside as many as the step computes: reading one takes
// a few microseconds.
constexpr int kReadPerStep = 256;
constexpr std::size_t kEnd = 256;  // tokens of a prompt that are read first

}  // namespace

NgramDrafter::NgramDrafter(const NgramOptions& options, int nodes, int num_slots,
                           std::shared_ptr<const DraftPace> pace,
                           std::shared_ptr<const Corpora> corpora)
    : isolation_(options.isolation),
      nodes_(nodes),
      trie_(options.capacity, options.max_depth),
      growth_(options.shape),
      corpora_(std::move(corpora)),
      corpus_drafts_(options.corpus_drafts),
      corpus_growth_(options.shape),
      offers_(num_slots),
      pace_(std::move(pace)),
      sequences_(at(num_slots)) {}

DraftNeeds NgramDrafter::needs() const { return {.taps = {}, .max_nodes = nodes_}; }

void NgramDrafter::open(SeqSlot slot, const DraftRequest& request) {
  const SharedTokens tokens = request.wish.allows_drafts() ? request.tokens : SharedTokens();
  std::uint64_t scope = request.scope;
  offers_.open(slot);
  if (sequences_.size() <= at(slot)) sequences_.resize(at(slot) + 1);
  Sequence& sequence = sequences_[at(slot)];
  CHECK(!sequence.is_open) << "slot " << slot << " was opened twice";
  if (isolation_ == DraftIsolation::kShared) scope = 0;
  if (isolation_ == DraftIsolation::kRequest) scope = ++opened_;
  sequence.end.start(scope);
  sequence.early.start(scope);
  sequence.text.start({}, tokens);
  sequence.end_at = tokens.size() - std::min(tokens.size(), kEnd);
  // As far as runs that begin there reach.
  sequence.early_at = 0;
  sequence.early_end =
      sequence.end_at == 0 ? 0 : std::min(tokens.size(), sequence.end_at + at(trie_.max_depth()));
  sequence.last.clear();
  if (corpora_) {
    const auto kept = std::min(tokens.size(), at(kMostCorpusContext));
    sequence.last.assign(tokens.end() - kept, tokens.end());
  }
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
  int computed = 0;
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const WalkSeq& found = rows.walk.seqs[i];
    const BatchSeq& seq = rows.batch.seqs[i];
    computed += seq.chain;
    if (found.path.empty()) continue;
    Sequence& sequence = sequences_[at(found.slot)];
    offers_.learn(found.slot, found.emitted);
    commit(sequence, found.emitted);
  }
  read_texts(kReadPerStep + computed);
}

void NgramDrafter::commit(Sequence& sequence, std::span<const SampledToken> emitted) {
  for (const SampledToken& token : emitted) {
    if (sequence.knows_its_end())
      trie_.append(sequence.end, token.token);
    else
      sequence.text.push_back(token.token);
    if (corpora_) keep_last(sequence, token.token);
  }
}

void NgramDrafter::keep_last(Sequence& sequence, Token token) {
  constexpr std::ptrdiff_t kKept = kMostCorpusContext;
  std::vector<Token>& last = sequence.last;
  if (std::ssize(last) == 4 * kKept) last.erase(last.begin(), last.end() - kKept);
  last.push_back(token);
}

// ---- reading

// The ends of all texts before the beginning of any, first those that are soon read: long ones hold
// up their like only.
void NgramDrafter::read_texts(int tokens) {
  if (unread_.empty()) return;
  std::ranges::sort(unread_, {}, [&](SeqSlot slot) {
    const Sequence& sequence = sequences_[at(slot)];
    return sequence.text.size() - sequence.end_at;
  });
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
  text.drop();
  early_at = early_end = end_at = 0;
}

// ---- trees

void NgramDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  const auto corpora = corpora_ ? corpora_->all() : nullptr;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Sequence& sequence = sequences_[at(slots[i])];
    const int most = std::min(limits[i].nodes, nodes_) - 1;
    if (most <= 0) continue;
    drafts_.clear();
    const int of_corpora = corpora ? find_corpora(sequence, *corpora, most) : 0;
    if (sequence.knows_its_end())
      growth_.grow(trie_, sequence.end, most - of_corpora, limits[i].depth, drafts_);
    if (of_corpora > 0) find_drafts(of_corpora, limits[i].depth);
    offers_.offer(slots[i], drafts_.drafts(), *pace_, trees);
  }
}

// The corpora that know how the text goes on, longer contexts first; returns how many drafts they
// may have together.
int NgramDrafter::find_corpora(const Sequence& sequence, const Corpora::List& corpora, int most) {
  matches_.clear();
  for (const auto& corpus : corpora) {
    const Corpus::Match match = corpus_growth_.find(*corpus, sequence.last);
    if (!match.places.empty()) matches_.push_back({corpus.get(), match});
  }
  std::ranges::stable_sort(matches_, std::ranges::greater{},
                           [](const CorpusMatch& found) { return found.match.context; });
  return matches_.empty() ? 0 : std::min(corpus_drafts_, most);
}

// Each has an equal share, the first ones the rest of the division.
void NgramDrafter::find_drafts(int most, int depth) {
  const auto count = static_cast<int>(matches_.size());
  for (int i = 0; i < count; ++i)
    corpus_growth_.grow(*matches_[at(i)].corpus, matches_[at(i)].match,
                        most / count + (i < most % count ? 1 : 0), depth, drafts_);
}

}  // namespace foretoken
