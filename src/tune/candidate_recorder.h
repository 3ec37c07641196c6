#pragma once
// CandidateRecorder: a drafter that proposes nothing, so that the target decodes plainly, and keeps
// below every token what a draft model would have given to any tree there. Engine thread only, but
// take().
//
// For each number of children that a shape may have it lets a tree of all its levels grow
// (LevelGrower), side by side; the draft model computes every row that one of them follows. A tree
// of fewer nodes, of less depth or of a higher least score follows some of these rows and no
// others, because no path gains by going on. Rows that find no room (LevelRows has 64 places) are
// left out; what needs them is not answered.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "draft/drafter.h"
#include "draft/level_grower.h"
#include "draft/with_model/candidate_finder.h"
#include "draft/with_model/draft_reader.h"
#include "draft/with_model/level_rows.h"
#include "model/draft_model.h"
#include "tune/record.h"

namespace foretoken {

class CandidateRecorder final : public Drafter, private LevelSource {
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
  // Of a candidate: which child of which recorded row it is, and the row that was computed of it.
  struct Place {
    int row, rank;
    int below = -1;
  };
  // A sequence below whose root rows are computed.
  struct Growing {
    SeqSlot slot = -1;
    RecordedTree* record = nullptr;
    std::vector<std::vector<Place>> places;  // by number of children less 1, by candidate
    int first_new = 0;                       // recorded rows of the newest level begin here
  };
  struct Slot {
    std::uint64_t scope = 0;
    int output = 0;  // tokens of its answer
  };

  void start_growing(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits);
  void compute(int level, int rows) override;
  void list(std::size_t tree, std::vector<Token>& tokens,
            std::vector<float>& probabilities) override;
  void add_rows(std::size_t sequence);
  void drop_rows_without_room(Growing& growing, std::size_t room);

  std::unique_ptr<DraftModel> model_;
  const int steps_, topk_;
  DraftPace pace_;
  DraftReader reader_;
  CandidateFinder finder_;
  LevelRows rows_;
  std::vector<Slot> slots_;
  LevelGrower grower_;
  std::vector<Growing> growing_;  // the first num_growing_ are in use
  std::size_t num_growing_ = 0;
  std::vector<RecordedTree::Row> wanted_;  // of a level

  std::mutex mutex_;  // guards what follows, and the trees behind Growing::record
  std::map<std::uint64_t, std::vector<RecordedTree>> texts_;  // by scope
};

}  // namespace foretoken
