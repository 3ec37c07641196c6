#pragma once
// ModelDrafter: all drafters that run a model. Not an algorithm: three values make the known ones.
// Allocates nothing once its vectors have grown. Engine thread only.
//
//   the model                    STANDALONE: a small language model; EAGLE, EAGLE-3, MTP: a head
//   the features that it reads   of the target, or none
//   the shape of the trees       topk 1: a chain
//
// A step: the DraftReader reads what was committed and the root behind it, the LevelGrower grows
// trees from there as far as the DraftPace says, LevelRows computes a level of all trees as one
// batch, the CandidateFinder turns its logits into candidates.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "batch/logit_slices.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/level_grower.h"
#include "draft/with_model/candidate_finder.h"
#include "draft/with_model/draft_reader.h"
#include "draft/with_model/level_rows.h"
#include "model/draft_model.h"

namespace foretoken {

class ModelDrafter final : public Drafter, private LevelSource {
 public:
  // The model has its KV already, of num_pages pages. num_slots: sequences at once. Throws Error
  // when the shape is impossible. ops outlive the drafter.
  // logit_slice_bytes: of logits that are in memory at once.
  ModelDrafter(Ops& ops, std::unique_ptr<DraftModel> model, const TreeShape& shape, int num_pages,
               int num_slots, std::shared_ptr<DraftPace> pace = std::make_shared<DraftPace>(),
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
  void see_emitted(const Walk& walk);
  void start_growing(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void compute(int level, int rows) override;
  void list(std::size_t tree, std::vector<Token>& tokens,
            std::vector<float>& probabilities) override;
  void add_rows(std::size_t tree);
  void add_to_finder(std::size_t tree);

  std::unique_ptr<DraftModel> model_;
  const TreeShape shape_;
  std::shared_ptr<DraftPace> pace_;
  DraftReader reader_;
  CandidateFinder finder_;
  LevelRows rows_;
  LevelGrower grower_;

  std::vector<SeqSlot> growing_;  // by number of the tree
  std::size_t listed_ = 0;        // candidates of the finder's
  std::vector<Token> path_;       // from a root to a row
  std::vector<Token> emitted_;    // by a step, of all sequences
};

}  // namespace foretoken
