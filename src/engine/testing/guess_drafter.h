#pragma once
// GuessDrafter: a drafter for tests. Its trees have random shapes; with a given probability a node
// on the path of the true text gets the true next token as a child, if the drafter has been told
// the text. So every way through the verification of real trees is taken, and none may show.

#include <cstdint>
#include <random>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

class GuessDrafter final : public Drafter {
 public:
  struct Options {
    int max_nodes = 8;   // root included
    int depth = 4;       // of the deepest node, root 0
    int topk = 2;        // children of one node
    double truth = 0.5;  // probability that a node on the true path gets the true child
    Token vocab = 1;     // guesses are drawn from [0, vocab)
    std::uint64_t seed = 0;
  };

  // texts: prompts with their true outputs, as far as known.
  GuessDrafter(const Options& options, std::vector<std::vector<Token>> texts);

  DraftNeeds needs() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;

  int proposed_nodes() const { return proposed_nodes_; }

 private:
  std::span<const Token> true_continuation(const std::vector<Token>& text) const;
  void grow_tree(SeqSlot slot, const TreeLimits& limits, DraftTrees& trees);

  Options options_;
  std::vector<std::vector<Token>> texts_;
  std::vector<std::vector<Token>> text_of_;  // by slot; empty: closed
  std::mt19937_64 random_;
  int proposed_nodes_ = 0;
};

}  // namespace foretoken
