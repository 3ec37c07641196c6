#pragma once
// ModelDrafter: all drafters that run a model. Three knobs make the known algorithms: the model
// (STANDALONE: a small language model; EAGLE, EAGLE-3, MTP: a head), the features of the target
// that it reads, and the shape of the trees (a chain is topk 1).
// Each step the DraftReader reads what was committed, followed by the root; then each level of a
// tree is one batch of rows over all sequences, every row seeing its own ancestors. What a tree
// stores lies behind the committed text and is forgotten with the step. Levels are laid out in the
// reader's own batch, on the page lists that the step's read has put there. The DraftPace says how
// much of all this is worth doing. Allocates nothing once its vectors have grown. Engine thread
// only.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "batch/logit_slices.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/tree_growth.h"
#include "draft/with_model/candidate_finder.h"
#include "draft/with_model/draft_reader.h"
#include "model/draft_model.h"

namespace foretoken {

class ModelDrafter final : public Drafter {
 public:
  // The model has its KV already, of num_pages pages. num_slots: sequences at once. Throws Error
  // when the shape is impossible. ops outlive the drafter.
  // logit_slice_bytes: of logits that are in memory at once.
  ModelDrafter(Ops& ops, std::unique_ptr<DraftModel> model, const TreeShape& shape, int num_pages,
               int num_slots, std::shared_ptr<DraftPace> pace = std::make_unique<DraftPace>(),
               std::size_t logit_slice_bytes = kLogitSliceBytes,
               Coupling coupling = Coupling::kMeasured);

  DraftNeeds needs() const override;
  FeatureTaps taps() const override {
    return pace_->sleeps(kNoSlot) ? FeatureTaps{} : model_->taps();
  }
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  DraftReport report(SeqSlot slot) const override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;

 private:
  // A sequence whose tree grows.
  struct Growing {
    SeqSlot slot = -1;
    BatchSeq seq = {};          // in the reader's batch, and then in those of levels
    std::int32_t root = 0;      // row of what the reader found
    std::int32_t position = 0;  // of the root's row
    std::int32_t end = 0;       // index into the pages behind the root
    bool is_following = true;   // has rows in the level being computed
    TreeGrowth growth;
    std::vector<std::uint64_t> slot_bit;  // by candidate: where its row is stored, behind `end`
    std::vector<std::uint64_t> mask;      // by candidate: the same of itself and its ancestors
    std::vector<std::int32_t> row;        // by candidate: in the batch of its level

    std::uint64_t slots_taken() const;
  };

  void start_growing(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void grow_levels();
  void list_rows(const Growing& growing);
  void add_candidates(Tensor hidden);
  void choose_following();
  bool is_level_worth() const;
  bool layout_level();
  Tensor level_features(const DraftRows& above);
  void add_level_rows(Growing& growing);

  StepOps& ops_;
  std::unique_ptr<DraftModel> model_;
  const TreeShape shape_;
  std::shared_ptr<DraftPace> pace_;
  DraftReader reader_;
  CandidateFinder finder_;

  std::vector<std::int32_t> rows_;  // rows to gather
  std::vector<float> chances_;      // of candidates
  std::vector<Growing> growing_;    // the first num_growing_ are in use
  std::size_t num_growing_ = 0;
  std::vector<Token> path_;  // from a root to a row
};

}  // namespace foretoken
