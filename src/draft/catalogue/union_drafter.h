#pragma once
// UnionDrafter: a drafter of drafters. Each part grows trees of its own; of each sequence they are
// joined into one: equal paths become one, a node is worth the best chance that any part gives it,
// and the best are kept. Parts that run no model are asked first; where they promise as much as a
// model usually brings, the model computes nothing for the sequence, not even what was committed.
// Knows what each request wishes and what became of the drafts of each part. Allocates nothing once
// its vectors have grown. Engine thread only.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "draft/catalogue/part_pace.h"
#include "draft/drafter.h"
#include "draft/step_pace.h"

namespace foretoken {

class UnionDrafter final : public Drafter {
 public:
  UnionDrafter(int num_slots, std::shared_ptr<StepPace> pace = std::make_shared<StepPace>());

  // Makes a part, which asks this pace or none. kMostDrafters at most, before any request.
  using Make = std::function<std::unique_ptr<Drafter>(std::shared_ptr<DraftPace>)>;
  void add(const Make& make);

  DraftNeeds needs() const override;
  FeatureTaps taps() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;
  DraftReport report(SeqSlot slot) const override;
  std::span<const std::uint32_t> origins(SeqSlot slot) override;
  void forget() override;

 private:
  // What drafts of a part have brought of late, per tree.
  struct Yield {
    double trees = 0, accepted = 0;  // decaying sums
    void add(int drafts);
  };
  struct Part {
    Part(std::unique_ptr<Drafter> made, std::shared_ptr<PartPace> its_pace, int num_slots);

    std::unique_ptr<Drafter> drafter;
    std::shared_ptr<PartPace> pace;  // the drafter's, too
    DraftNeeds needs;
    DraftTrees trees;
    Yield yield;
    std::vector<Yield> yield_of;  // by slot
    double expected(SeqSlot slot) const;
  };
  using Scores = std::array<float, kMostDrafters>;  // of a node, as parts gave them; 0: not theirs
  struct Sequence {
    DraftWish wish;
    DraftReport report;
    TokenConstraint* constraint = nullptr;
    std::vector<Scores> planted;  // by node of the tree that is being verified, root excluded
  };
  struct Node {  // of trees that are being joined
    Token token = kNoToken;
    int parent = -1;
    int first_child = -1, next = -1;  // of nodes_
    Scores scores = {};
    float chance = 0;  // the best that any part's score stands for
    int node = -1;     // in the tree that is verified; -1: not in it
  };

  void learn(const WalkSeq& found, int drafts);
  void credit_texts(const WalkSeq& found);
  void choose_slots(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void ask(std::size_t part, const DraftTrees& trees);
  void spare(std::size_t model);
  double promised(SeqSlot slot) const;
  void join(SeqSlot slot, const TreeLimits& limits, DraftTrees& trees);
  void add_tree(std::size_t part, SeqSlot slot);
  void bar(TokenConstraint& constraint);
  int child(int parent, Token token);

  const int num_slots_;
  std::shared_ptr<StepPace> pace_;
  std::vector<Part> parts_;
  bool runs_model_ = false;            // one of the parts does
  std::vector<Sequence> sequences_;    // by slot
  std::optional<CommittedRows> rows_;  // of the step, until trees are grown

  // Of the sequences that may have trees.
  std::vector<SeqSlot> slots_, asked_slots_;
  std::vector<TreeLimits> limits_, asked_limits_;
  std::vector<Node> nodes_;     // the root first, parents before children
  std::vector<int> place_;      // by node of a part's tree: in nodes_
  std::vector<float> chances_;  // of the drafts among nodes_
  std::vector<int> chosen_;
  std::vector<int> path_;               // to a draft that a constraint is asked about
  std::vector<Token> tokens_;           // along it
  std::vector<std::uint32_t> origins_;  // that were asked for last
};

}  // namespace foretoken
