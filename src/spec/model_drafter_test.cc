// How ModelDrafter grows levels: which rows it computes, what it asks the pace before, and what of
// the step's read it goes on with. What it proposes is tested with whole engines.

#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "spec/model_drafter.h"

namespace foretoken {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int kVocab = 20, kPages = 16, kSlots = 3;

// What one forward was given.
struct Forward {
  const PageId* pages;
  std::vector<PageId> page_lists;
  int rows;
};

// A language model to which every token makes the same ones probable, the lower the more.
class SteadyModel final : public DraftModel {
 public:
  SteadyModel(Ops& ops, std::vector<Forward>& forwards) : ops_(ops), forwards_(forwards) {}
  void allocate_kv(int) override {}
  KvShape kv_shape() const override { return {}; }
  std::size_t weight_bytes() const override { return 0; }
  std::int64_t vocab() const override { return kVocab; }
  std::size_t forward_bytes(std::int64_t) const override { return 0; }
  ForwardSize forward_size(std::int64_t) const override { return {}; }
  std::int64_t hidden_width() const override { return 1; }
  std::int64_t logit_width() const override { return kVocab; }
  DraftRows forward(const Batch& batch, Tensor) override {
    forwards_.push_back({batch.pages.data(), batch.pages, batch.rows});
    return {.hidden = ops_.temp(DType::kF32, {batch.rows, 1}), .feature = {}};
  }
  Tensor logits(Tensor hidden) override {
    const Tensor out = ops_.temp(DType::kF32, {hidden.dim(0), kVocab});
    for (std::int64_t row = 0; row < out.dim(0); ++row)
      for (int token = 0; token < kVocab; ++token)
        out.row_f32(row)[token] = -0.3F * static_cast<float>(token);
    return out;
  }

 private:
  Ops& ops_;
  std::vector<Forward>& forwards_;
};

class AskedPace final : public DraftPace {
 public:
  explicit AskedPace(std::vector<int>& asked) : asked_(asked) {}
  bool is_level_worth(int rows, double promised) const override {
    asked_.push_back(rows);
    EXPECT_GT(promised, 0.0);
    EXPECT_LT(promised, rows);
    return true;
  }

 private:
  std::vector<int>& asked_;
};

class ModelDrafterLevels : public testing::Test {
 protected:
  ModelDrafterLevels() : pool_(1, false), ops_(make_backend({.device = "reference"}, pool_)) {
    PageId next = kPages;
    for (auto& pages : table_.pages)
      for (int i = 0; i < kPages / kSlots; ++i) pages.push_back(--next);
  }

  // Reads a prompt of each slot and grows their trees.
  void grow(const TreeShape& shape, const std::vector<TreeLimits>& limits) {
    ModelDrafter drafter(*ops_, std::make_unique<SteadyModel>(*ops_, forwards_), shape, kPages,
                         kSlots, std::make_unique<AskedPace>(asked_));
    const std::vector<Token> prompt{1, 2, 3, 4, 5, 6};
    StepPlan plan;
    Walk walk;
    std::vector<SeqSlot> slots;
    for (SeqSlot slot = 0; slot < static_cast<SeqSlot>(limits.size()); ++slot) {
      drafter.open(slot, prompt, 0);
      slots.push_back(slot);
      plan.entries.push_back({.slot = slot,
                              .chain = std::span(prompt).first(prompt.size() - 1),
                              .has_tree = true,
                              .params = &params_});
      trees_.plant(slot, prompt.back());
      walk.seqs.push_back({.slot = slot, .path = {0}, .emitted = {{}}, .scored = {}});
      walk.seqs.back().emitted[0].token = 7;
    }
    Batch batch;
    ops_->layout(plan, trees_, table_, batch);
    for (const SeqSlot slot : slots) {
      table_.length[at(slot)] += static_cast<std::int32_t>(prompt.size());
      trees_.plant(slot, 7);
    }
    drafter.observe({.plan = plan, .table = table_, .batch = batch, .walk = walk, .features = {}});
    drafter.propose(slots, limits, trees_);
  }
  std::vector<int> rows_of_levels() const {
    std::vector<int> rows;
    for (std::size_t i = 1; i < forwards_.size(); ++i) rows.push_back(forwards_[i].rows);
    return rows;
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  SamplingParams params_;
  SeqTable table_{kSlots};
  DraftTrees trees_{kSlots, kMaxTreeNodes};
  std::vector<Forward> forwards_;
  std::vector<int> asked_;
};

TEST_F(ModelDrafterLevels, the_worth_of_a_level_counts_the_rows_it_would_compute) {
  // With 3 nodes the first tree has two levels at most, so that one level is computed for it; the
  // second goes on to the fourth.
  grow({.steps = 4, .topk = 2, .nodes = 16}, {{.nodes = 3}, {}});
  EXPECT_THAT(rows_of_levels(), ElementsAre(4, 2, 2));
  EXPECT_EQ(asked_, rows_of_levels());
}

TEST_F(ModelDrafterLevels, nobody_is_asked_about_a_level_without_rows) {
  grow({.steps = 4, .topk = 1, .nodes = 8}, {{.nodes = 2}, {.nodes = 3}});
  EXPECT_EQ(asked_, rows_of_levels());
  EXPECT_THAT(asked_, ElementsAre(1));
}

TEST_F(ModelDrafterLevels, no_level_is_computed_below_the_depth_that_a_tree_may_have) {
  grow({.steps = 4, .topk = 2, .nodes = 16}, {{.depth = 1}, {.depth = 3}, {.depth = 0}});
  EXPECT_THAT(rows_of_levels(), ElementsAre(2, 2));
  EXPECT_EQ(trees_.size(0), 3);
  EXPECT_EQ(trees_.size(1), 11);
  EXPECT_EQ(trees_.size(2), 1);
}

TEST_F(ModelDrafterLevels, levels_go_on_with_the_page_lists_of_the_read) {
  grow({.steps = 5, .topk = 2, .nodes = 16}, {{}, {.nodes = 4}, {}});
  ASSERT_EQ(forwards_.size(), 5U);
  for (const Forward& forward : forwards_) {
    EXPECT_EQ(forward.pages, forwards_[0].pages);
    EXPECT_EQ(forward.page_lists, forwards_[0].page_lists);
  }
  EXPECT_THAT(asked_, Each(testing::Gt(0)));
}

}  // namespace
}  // namespace foretoken
