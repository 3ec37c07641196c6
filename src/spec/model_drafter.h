#pragma once
// ModelDrafter: all drafters that run a model. Three knobs make the known algorithms: the model
// (STANDALONE: a small language model; EAGLE, EAGLE-3, MTP: a head), the features of the target
// that it reads, and the shape of the trees (a chain is topk 1).
// Each step it reads the committed rows anew, with the target's features, followed by the root;
// then each level of a tree is one batch of rows over all sequences, every row seeing its own
// ancestors. What a tree stores lies behind the committed text and is forgotten with the step.
// A model that reads features reads the pair (x[p], f[p - 1]) into slot p. The feature of the last
// committed token of each page is kept beside the page, so that whoever goes on from there, with
// the next step or after a prefix hit, finds it. Allocates nothing once its vectors have grown.
// Engine thread only.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "model/draft_model.h"
#include "spec/draft_timing.h"
#include "spec/drafter.h"
#include "spec/tree_growth.h"

namespace foretoken {

class ModelDrafter final : public Drafter {
 public:
  // The model has its KV already, of num_pages pages. Throws Error when the shape is impossible.
  // ops outlive the drafter.
  ModelDrafter(Ops& ops, std::unique_ptr<DraftModel> model, const TreeShape& shape, int num_pages,
               TreeBudget budget);

  DraftNeeds needs() const override;
  void open(SeqSlot slot, std::span<const Token> tokens) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const int> budget,
               DraftTrees& trees) override;

 private:
  // A sequence whose tree grows.
  struct Growing {
    SeqSlot slot = -1;
    std::int32_t seq = -1;      // in committed_
    std::int32_t length = 0;    // committed tokens: the slot of the root
    std::int32_t root_row = 0;  // in committed_
    int stored = 0;             // rows of this tree that are in the KV, root excluded
    bool is_following = true;   // has rows in the level being computed
    TreeGrowth growth;
    std::vector<std::uint64_t> mask;  // by candidate: ancestors and self among the stored rows
    std::vector<std::int32_t> row;    // by candidate: in the batch of its level
    std::vector<int> node;            // by candidate: its node in the tree, -1: none
  };

  // Rows of a tensor that are copied to rows of another.
  struct RowCopies {
    std::vector<std::int32_t> from, to;
    void add(std::int32_t source, std::int32_t target) {
      from.push_back(source);
      to.push_back(target);
    }
    void clear() {
      from.clear();
      to.clear();
    }
  };

  void layout_committed(const CommittedRows& rows);
  void layout_sequence(const CommittedRows& rows, std::size_t i);
  void list_features(const CommittedRows& rows, std::size_t i, std::int32_t first_slot);
  Tensor committed_features(const Features& target);
  void start_growing(std::span<const SeqSlot> slots, std::span<const int> budget);
  void grow_levels();
  void find_candidates(Tensor hidden);
  void add_candidates(Tensor hidden);
  bool is_level_worth() const;
  bool layout_level();
  Tensor level_features(const DraftRows& above);
  void add_level_rows(Growing& growing);
  void plant_tree(Growing& growing, DraftTrees& trees);
  Token readable(Token token) const { return token < vocab_ ? token : 0; }
  int scratch_slots() const { return 1 + (shape_.steps - 1) * shape_.topk; }

  bool reads_features() const { return shift_ > 0; }

  Ops& ops_;
  std::unique_ptr<DraftModel> model_;
  const TreeShape shape_;
  const Token vocab_;         // of the draft model's input
  const std::int32_t shift_;  // 1 where a row's feature, and its rotary position, is of the token
                              // before it; that leaves slot 0 empty
  Tensor page_feature_;       // [pages, feature width]: of the last committed token in each

  Batch committed_;                    // committed rows and roots of this step
  Batch level_;                        // rows of one level of all trees
  DraftRows found_;                    // of committed_
  std::vector<std::int32_t> seq_of_;   // by slot: sequence in committed_ with a root, or -1
  std::vector<std::int32_t> root_of_;  // by slot: KV slot of the root stored last, or -1
  std::vector<std::int32_t> rows_;     // rows to gather
  RowCopies from_pages_, from_target_, to_pages_;
  std::vector<Growing> growing_;  // the first num_growing_ are in use
  std::size_t num_growing_ = 0;
  TopTokens top_;
  std::optional<DraftTiming> timing_;  // where trees are to be as large as pays
};

}  // namespace foretoken
