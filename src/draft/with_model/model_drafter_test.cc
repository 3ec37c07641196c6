// How ModelDrafter grows levels: which rows it computes, what it asks the pace before, and what of
// the step's read it goes on with. What it proposes is tested with whole engines.

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/host/host_step.h"
#include "base/index.h"
#include "base/rng.h"
#include "draft/with_model/model_drafter.h"

namespace foretoken {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int kVocab = 20, kPages = 24, kSlots = 3;

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
  DraftRows forward(Batch& batch, const DraftInput&) override {
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

// What follows a text, as a function of all of it.
std::vector<float> logits_after(const std::vector<Token>& text) {
  std::uint64_t seed = 1;
  for (const Token token : text) seed = mix_seed(seed, static_cast<std::uint64_t>(token));
  std::vector<float> logits;
  for (std::uint64_t token = 0; token < kVocab; ++token)
    logits.push_back(static_cast<float>(mix_seed(seed, token) % 4096) / 512);
  return logits;
}

// A language model whose KV is the token at its position: a row reads what it sees through pages
// and mask.
class ReadingModel final : public DraftModel {
 public:
  explicit ReadingModel(Ops& ops) : ops_(ops), kv_(kPages * kPageTokens) {}
  void allocate_kv(int) override {}
  KvShape kv_shape() const override { return {}; }
  std::size_t weight_bytes() const override { return 0; }
  std::int64_t vocab() const override { return kVocab; }
  std::size_t forward_bytes(std::int64_t) const override { return 0; }
  ForwardSize forward_size(std::int64_t) const override { return {}; }
  std::int64_t hidden_width() const override { return kVocab; }
  std::int64_t logit_width() const override { return kVocab; }
  DraftRows forward(Batch& batch, const DraftInput&) override {
    for (int row = 0; row < batch.rows; ++row)
      kv_[at(batch.kv_slot[at(row)])] = {batch.position[at(row)], batch.token[at(row)]};
    const Tensor out = ops_.temp(DType::kF32, {batch.rows, kVocab});
    for (int row = 0; row < batch.rows; ++row)
      std::ranges::copy(read(batch, row), out.row_f32(row));
    return {.hidden = out, .feature = {}};
  }
  Tensor logits(Tensor hidden) override { return hidden; }

 private:
  std::vector<float> read(const Batch& batch, int row) {
    std::vector<std::int32_t> slots;
    visible_slots(batch, row, slots);
    std::vector<std::pair<std::int32_t, Token>> seen;
    for (const std::int32_t slot : slots) seen.push_back(kv_[at(slot)]);
    std::ranges::sort(seen);
    std::vector<Token> text;
    for (const auto& [position, token] : seen) {
      EXPECT_EQ(position, static_cast<std::int32_t>(text.size())) << "a place is missing or twice";
      text.push_back(token);
    }
    return logits_after(text);
  }

  Ops& ops_;
  std::vector<std::pair<std::int32_t, Token>> kv_;
};

// The best nodes of all that EAGLE-2 looks at, as texts behind the root: of every level the best
// topk are followed.
std::set<std::vector<Token>> best_paths(Ops& ops, const std::vector<Token>& text,
                                        const TreeShape& shape) {
  struct Path {
    float score;
    std::vector<Token> tokens;
  };
  const auto better = [](const Path& a, const Path& b) { return a.score > b.score; };
  std::vector<Path> all, level{{1.0F, {}}};
  for (int depth = 0; depth < shape.steps; ++depth) {
    std::vector<Path> next;
    for (const Path& path : level) {
      std::vector<Token> seen = text;
      seen.insert(seen.end(), path.tokens.begin(), path.tokens.end());
      const std::vector<float> logits = logits_after(seen);
      const ScratchScope scope(ops);
      const Tensor row = ops.temp(DType::kF32, {1, kVocab});
      std::ranges::copy(logits, row.row_f32(0));
      TopTokens top;
      ops.top_tokens(row, shape.topk, top);
      for (std::size_t i = 0; i < top.token.size(); ++i) {
        next.push_back({path.score * top.probability[i], path.tokens});
        next.back().tokens.push_back(top.token[i]);
      }
    }
    all.insert(all.end(), next.begin(), next.end());
    std::ranges::stable_sort(next, better);
    next.resize(std::min(next.size(), at(shape.topk)));
    level = std::move(next);
  }
  std::ranges::stable_sort(all, better);
  std::set<std::vector<Token>> paths;
  for (std::size_t i = 0; i < at(shape.nodes - 1); ++i) paths.insert(all[i].tokens);
  return paths;
}

std::set<std::vector<Token>> paths_of(const DraftTrees& trees, SeqSlot slot) {
  std::vector<std::vector<Token>> path{{}};
  for (std::size_t node = 1; node < trees.tokens(slot).size(); ++node) {
    path.push_back(path[at(trees.parents(slot)[node])]);
    path.back().push_back(trees.tokens(slot)[node]);
  }
  return {path.begin() + 1, path.end()};
}

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
    params_.temperature = 0;
    PageId next = kPages;
    for (auto& pages : table_.pages)
      for (int i = 0; i < kPages / kSlots; ++i) pages.push_back(--next);
  }

  // Reads a prompt of each slot and grows their trees.
  void grow(const TreeShape& shape, const std::vector<TreeLimits>& limits) {
    grow(shape, limits, std::make_unique<SteadyModel>(*ops_, forwards_));
  }
  void grow(const TreeShape& shape, const std::vector<TreeLimits>& limits,
            std::unique_ptr<DraftModel> model) {
    ModelDrafter drafter(*ops_, std::move(model), shape, kPages, kSlots,
                         std::make_unique<AskedPace>(asked_));
    const std::vector<Token> prompt{1, 2, 3, 4, 5, 6};
    StepPlan plan;
    Walk walk;
    std::vector<SeqSlot> slots;
    for (SeqSlot slot = 0; slot < static_cast<SeqSlot>(limits.size()); ++slot) {
      drafter.open(slot, {.tokens = prompt});
      slots.push_back(slot);
      plan.entries.push_back({.slot = slot,
                              .chain = std::span(prompt).first(prompt.size() - 1),
                              .has_tree = true,
                              .params = &params_});
      trees_.plant(slot, prompt.back());
      walk.seqs.push_back(
          {.slot = slot, .path = {0}, .emitted = {{}}, .foreseen = {}, .scored = {}});
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

// However many are followed: what fell out of the tree has made room for what is stored later.
TEST_F(ModelDrafterLevels, trees_are_the_best_of_all_that_was_looked_at) {
  const std::vector<Token> text{1, 2, 3, 4, 5, 6, 7};
  for (const TreeShape& shape : {TreeShape{.steps = 8, .topk = 10, .nodes = 60},
                                 TreeShape{.steps = 12, .topk = 6, .nodes = 12},
                                 TreeShape{.steps = 40, .topk = 3, .nodes = 64},
                                 TreeShape{.steps = 3, .topk = 19, .nodes = 8}}) {
    grow(shape, {{}, {}}, std::make_unique<ReadingModel>(*ops_));
    const auto expected = best_paths(*ops_, text, shape);
    EXPECT_EQ(paths_of(trees_, 0), expected);
    EXPECT_EQ(paths_of(trees_, 1), expected);
    std::ranges::fill(table_.length, 0);
  }
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
