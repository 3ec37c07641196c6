#pragma once
// One engine's worth of steps for a drafter of texts, without an engine: slot 0 alone, or an empty
// step. For tests only.

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "batch/testing/sequence_rows.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"

namespace foretoken {

class FixedPace final : public DraftPace {
 public:
  explicit FixedPace(float least, bool rests = false) : least_(least), rests_(rests) {}
  float least_score() const override { return least_; }
  bool rests(SeqSlot) const override { return rests_; }

 private:
  float least_;
  bool rests_;
};

inline std::vector<Token> counting(int from, int to) {
  std::vector<Token> tokens;
  for (int i = from; i < to; ++i) tokens.push_back(i);
  return tokens;
}

template <typename TextDrafter, int kMostNodes>
class TextSteps {
 public:
  template <typename Options, typename... More>
  TextSteps(const Options& options, std::shared_ptr<DraftPace> pace, More... more)
      : drafter(options, kNodes, 2, std::move(pace), std::move(more)...) {}

  void open(const DraftRequest& request) {
    drafter.open(0, request);
    trees.plant(0, request.tokens.back());
  }
  void idle() { drafter.observe({plan_, table_, {}, {}, features_}); }

  // The path of nodes was accepted (the root without being asked), then this token sampled.
  void commit(std::vector<std::int32_t> path, Token bonus) {
    path.insert(path.begin(), 0);
    Batch batch;
    batch.rows = trees.size(0);
    batch.seqs.push_back(sequence_rows(batch.rows));
    Walk walk;
    WalkSeq& seq = walk.seqs.emplace_back();
    seq.slot = 0;
    for (std::size_t i = 1; i < path.size(); ++i)
      seq.emitted.emplace_back().token = trees.tokens(0)[at(path[i])];
    seq.emitted.emplace_back().token = bonus;
    seq.path = std::move(path);
    drafter.observe({plan_, table_, batch, walk, features_});
    trees.plant(0, bonus);
  }
  std::vector<Token> propose(const TreeLimits& limits = {}) {
    const SeqSlot slot = 0;
    drafter.propose({&slot, 1}, {&limits, 1}, trees);
    EXPECT_EQ(tree_fault(trees.tokens(0), trees.parents(0)), "");
    const auto tokens = trees.tokens(0).subspan(1);
    return {tokens.begin(), tokens.end()};
  }

  static constexpr int kNodes = kMostNodes;
  TextDrafter drafter;
  DraftTrees trees{2, kNodes};

 private:
  StepPlan plan_;
  SeqTable table_{2};
  Features features_;
};

}  // namespace foretoken
