#pragma once
// SuffixDrafter: proposes what followed most often where the end of the text occurred before: in
// this text, in the prediction that came with the request, or in finished answers of the same
// scope, each in suffix trees of its own. How many drafts there are follows from how long the texts
// agree and how often they went on alike (SuffixGrowth). Runs no model. Texts are read, and what is
// not needed any more is cleared away, a bounded number of tokens per step: prompts from admission
// on, predictions first. Allocates nothing once its vectors have grown, but for answers that are
// remembered. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/from_text/suffix/suffix_answers.h"
#include "draft/from_text/suffix/suffix_growth.h"
#include "draft/from_text/suffix/suffix_options.h"
#include "draft/from_text/suffix/suffix_trees.h"
#include "draft/from_text/text_drafts.h"
#include "draft/from_text/unread_text.h"

namespace foretoken {

class SuffixDrafter final : public Drafter {
 public:
  // nodes: of a tree, root included. Throws Error where the trees cannot be.
  SuffixDrafter(const SuffixOptions& options, int nodes, int num_slots,
                std::shared_ptr<const DraftPace> pace = std::make_shared<DraftPace>());

  DraftNeeds needs() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;
  DraftReport report(SeqSlot slot) const override {
    return {.by_drafter = {}, .predictions = sequences_[at(slot)].predictions};
  }
  void forget() override;

  const SuffixTrees& trees() const { return trees_; }
  const SuffixAnswers& answers() const { return answers_; }

 private:
  // A text with a tree of its own, which is read bit by bit.
  struct Reading {
    SuffixTrees::Id root = 0;  // 0: none
    SuffixTrees::TextId text = 0;
    UnreadText tokens;
    std::size_t read = 0;  // of them

    std::size_t left() const { return tokens.size() - read; }
    bool is_read() const { return left() == 0; }
  };
  struct Sequence {
    bool is_open = false;
    std::uint64_t scope = 0;
    Reading own;
    Reading prediction;
    SuffixTrees::Cursor in_prediction, in_answers;  // the end of its text there
    std::vector<Token> answer;                      // since it was opened, to be remembered
    bool offers_prediction = false;                 // by the tree that is being verified
    DraftTally predictions;
  };
  struct Felled {  // a tree that is being cleared away, with its text
    SuffixTrees::Id root;
    SuffixTrees::TextId text;
  };

  void start(Reading& reading, std::span<const Token> before, const SharedTokens& tokens);
  void start_texts(Sequence& sequence, const DraftRequest& request);
  void drop(Reading& reading);
  void read_answers_of(Sequence& sequence, Token token);
  void commit(SeqSlot slot, std::span<const SampledToken> sampled);
  void work(int tokens);
  void clear_away(int& tokens);
  bool read(Reading& reading, int& tokens);

  const SuffixOptions options_;
  const int nodes_;
  SuffixTrees trees_;
  SuffixAnswers answers_;
  SuffixGrowth growth_;
  TextOffers offers_;
  const std::shared_ptr<const DraftPace> pace_;
  std::vector<Sequence> sequences_;  // by slot
  std::vector<SeqSlot> unread_;      // those with something still to be read
  std::vector<Felled> felled_;
  std::size_t turn_ = 0;  // the sequence that is first where drafts do not suffice for all
};

}  // namespace foretoken
