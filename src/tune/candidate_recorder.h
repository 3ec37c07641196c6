#pragma once
// CandidateRecorder: a drafter that proposes nothing, so that the target decodes plainly, and
// records below every token what a draft model would give to any tree there. Engine thread only,
// but take().
//   - For each number of children that a shape may have it grows a tree of all its levels
//     (TreeGrowth), side by side; the draft model computes every row that one of them follows.
//   - A tree of fewer nodes, less depth or a higher least score follows some of these rows and no
//     others, because no path gains by going on.
//   - Rows beyond the 64 that are seen at once, as in any tree, are left out; what needs them is
//     not answered.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/tree_growth.h"
#include "draft/with_model/candidate_finder.h"
#include "draft/with_model/draft_reader.h"
#include "model/draft_model.h"
#include "tune/record.h"

namespace foretoken {

class CandidateRecorder final : public Drafter {
 public:
  // Trees of up to so many steps and children. The model has its KV already, of num_pages pages.
  CandidateRecorder(Ops& ops, std::unique_ptr<DraftModel> model, int steps, int topk, int num_pages,
                    int num_slots);

  // A shape that stands for what it takes, for those who plan memory.
  static TreeShape needed_room(int steps, int topk);

  DraftNeeds needs() const override;
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot) override {}
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;

  // The trees below the tokens of the answer of this scope, which is at its end. Any thread.
  std::vector<RecordedTree> take(std::uint64_t scope);

 private:
  // A tree of one number of children.
  struct Growth {
    int topk = 1;
    TreeGrowth tree;
    bool is_following = true;
    // By candidate: which child of which recorded row it is, and the row that was computed of it.
    struct Place {
      int row, rank;
      int below = -1;
    };
    std::vector<Place> places;
  };
  // A sequence below whose root rows are computed.
  struct Growing {
    SeqSlot slot = -1;
    BatchSeq seq = {};
    std::int32_t root = 0;      // row of what the reader found
    std::int32_t position = 0;  // of the root's row
    std::int32_t end = 0;       // index into the pages behind the root
    RecordedTree* record = nullptr;
    std::vector<Growth> growths;
    std::vector<std::uint64_t> mask;      // by recorded row: its slot and its ancestors'
    std::vector<std::int32_t> batch_row;  // by recorded row: in the batch of its level
    int first_new = 0;                    // recorded rows of the newest level begin here
  };
  struct Slot {
    std::uint64_t scope = 0;
    int output = 0;  // tokens of its answer
  };

  void start_growing(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void add_candidates(Tensor hidden);
  void feed(Growing& growing, Growth& growth);
  bool layout_level();
  void add_level_rows(Growing& growing);
  Tensor level_features(const DraftRows& above);

  Ops& ops_;
  std::unique_ptr<DraftModel> model_;
  const int steps_, topk_;
  DraftPace pace_;
  DraftReader reader_;
  CandidateFinder finder_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> rows_;  // rows to gather
  std::vector<Growing> growing_;
  std::size_t num_growing_ = 0;
  std::vector<Token> tokens_;   // of a level that is fed
  std::vector<float> chances_;  // likewise

  std::mutex mutex_;  // guards what follows, and the trees behind Growing::record
  std::map<std::uint64_t, std::vector<RecordedTree>> texts_;  // by scope
};

}  // namespace foretoken
