#pragma once
// NgramDrafter: proposes what followed when the end of the text occurred before, in this text or in
// another one of the same scope, or in corpora of the operator's. Runs no model: what was committed
// goes into an NgramTrie, and trees are read off it. Prompts are read from admission on, a bounded
// number of tokens per step and their ends first, so that the first decode steps can draft. What is
// offered of a tree, the TextOffers decide. Allocates nothing once its vectors have grown. Engine
// thread only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/from_text/draft_list.h"
#include "draft/from_text/ngram/corpora.h"
#include "draft/from_text/ngram/corpus_growth.h"
#include "draft/from_text/ngram/ngram_growth.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/ngram/ngram_trie.h"
#include "draft/from_text/text_drafts.h"
#include "draft/from_text/unread_text.h"

namespace foretoken {

class NgramDrafter final : public Drafter {
 public:
  // nodes: of a tree, root included. corpora: null: none. Throws Error where the trie cannot be.
  NgramDrafter(const NgramOptions& options, int nodes, int num_slots,
               std::shared_ptr<const DraftPace> pace = std::make_shared<DraftPace>(),
               std::shared_ptr<const Corpora> corpora = nullptr);

  DraftNeeds needs() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;
  void forget() override { trie_.clear(); }

  const NgramTrie& trie() const { return trie_; }

 private:
  struct Sequence {
    bool is_open = false;
    NgramTrie::Cursor end;    // of what is read up to the end of the text
    NgramTrie::Cursor early;  // of what is read from its beginning on
    std::vector<Token> last;  // tokens of the text, for corpora; a few more than are looked up
    // What is still to be read: [early_at, early_end) and [end_at, size()).
    UnreadText text;
    std::size_t early_at = 0, early_end = 0, end_at = 0;

    bool knows_its_end() const { return end_at == text.size(); }
    bool is_read() const { return knows_its_end() && early_at == early_end; }
    void drop_text();
  };

  struct CorpusMatch {
    const Corpus* corpus;
    Corpus::Match match;
  };

  void commit(Sequence& sequence, std::span<const SampledToken> emitted);
  void read_texts(int tokens);
  void keep_last(Sequence& sequence, Token token);
  int find_corpora(const Sequence& sequence, const Corpora::List& corpora, int most);
  void find_drafts(int most, int depth);

  const DraftIsolation isolation_;
  const int nodes_;
  NgramTrie trie_;
  NgramGrowth growth_;
  const std::shared_ptr<const Corpora> corpora_;  // null: none
  const int corpus_drafts_;
  CorpusGrowth corpus_growth_;
  std::vector<CorpusMatch> matches_;
  DraftList drafts_;
  TextOffers offers_;
  const std::shared_ptr<const DraftPace> pace_;
  std::vector<Sequence> sequences_;  // by slot
  std::vector<SeqSlot> unread_;      // those with something still to be read
  std::uint64_t opened_ = 0;         // numbers the scopes of single requests
};

}  // namespace foretoken
