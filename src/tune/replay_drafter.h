#pragma once
// ReplayDrafter: a ModelDrafter whose model is a record. It grows the trees that the real one would
// grow, by the same rules (LevelGrower, the pace's), from recorded candidates, and tells the
// ReplayClock what the model would have had to compute. What the record lacks has no children, and
// is counted. One thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/level_grower.h"
#include "tune/record.h"
#include "tune/step_costs.h"

namespace foretoken {

// The time that passes in a replay: what work would take, by measured costs.
struct ReplayClock {
  const StepCosts* costs = nullptr;  // null: time stands still
  double now = 1;                    // seconds; 0 means "never" to a pace
  double drafting = 0;               // of them
  double reading = 0, roots = 0, levels = 0;

  void pass(double seconds, double& share) {
    now += seconds;
    drafting += seconds;
    share += seconds;
  }
};

class ReplayDrafter final : public Drafter, private LevelSource {
 public:
  // width: candidates that the record has of a row.
  ReplayDrafter(const TreeShape& shape, int width, int num_slots, std::shared_ptr<DraftPace> pace,
                ReplayClock& clock);

  // Whose text is in the slot, from the next open() on. It outlives the drafter.
  void seat(SeqSlot slot, const RecordedText& text) { slots_[at(slot)].seated = &text; }
  // Rows that were to be followed and were not recorded.
  std::int64_t unanswered() const { return unanswered_; }

  // Whether it reads nothing of the step that comes.
  bool sleeps() const { return pace_->sleeps(kNoSlot); }

  DraftNeeds needs() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot) override {}
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;

 private:
  struct Slot {
    const RecordedText* seated = nullptr;
    int output = 0;         // tokens of its answer
    bool has_root = false;  // was read up to it
  };
  struct Place {  // of a candidate: which child of which recorded row; -1: of none
    int row, rank;
  };
  struct Growing {
    SeqSlot slot = -1;
    const RecordedTree* record = nullptr;
    std::vector<Place> places;
    std::vector<int> below;  // by row and rank: the row of this child, -1: none
  };

  void start_growing(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void compute(int level, int rows) override;
  void list(std::size_t tree, std::vector<Token>& tokens,
            std::vector<float>& probabilities) override;

  const TreeShape shape_;
  const int width_;
  std::shared_ptr<DraftPace> pace_;
  ReplayClock& clock_;
  std::vector<Slot> slots_;
  LevelGrower grower_;
  std::vector<Growing> growing_;  // by number of the tree; those behind the last are not in use
  std::int64_t unanswered_ = 0;
};

}  // namespace foretoken
