#include "engine/step_runner.h"

#include <latch>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/testing/hash_model.h"

namespace foretoken::step_runner_test {
namespace {

constexpr std::int64_t kVocab = 64;
constexpr int kSlots = 4;

// A target that waits for a gate, or fails.
class GatedModel final : public TargetModel {
 public:
  explicit GatedModel(Ops& ops) : model_(ops, 8, kVocab) {}
  Features forward(const Batch& batch, const FeatureTaps& taps) override {
    if (gate) gate->wait();
    ++forwards;
    if (failures > 0 && failures-- > 0) throw std::bad_alloc();
    return model_.forward(batch, taps);
  }
  Tensor logits(const Features& features, const Batch& batch) override {
    return model_.logits(features, batch);
  }
  std::span<const KvLayer> kv_layers() const override { return model_.kv_layers(); }
  std::int64_t vocab() const override { return model_.vocab(); }

  std::unique_ptr<std::latch> gate;
  int failures = 0;  // of the next forwards
  int forwards = 0;

 private:
  HashModel model_;
};

class Rig {
 protected:
  // The text enters a slot, whose pages hold it; its last token is the root.
  StepOrder order_of(SeqSlot slot, const std::vector<Token>& text, const SamplingParams& params) {
    StepOrder order;
    order.changes.push_back({.slot = slot,
                             .opening = {.draft = {.tokens = text, .prompt_tokens = text.size()},
                                         .params = &params,
                                         .max_new = 3}});
    order.changes.push_back(
        {.kind = SlotChange::Kind::kPages, .slot = slot, .pages = {static_cast<PageId>(slot)}});
    order.entries.push_back({.slot = slot,
                             .owner = 7,
                             .chain = std::span(text).first(text.size() - 1),
                             .has_tree = true,
                             .root = text.back(),
                             .max_nodes = 1});
    return order;
  }
  static StepOrder next(SeqSlot slot) {
    StepOrder order;
    order.entries.push_back({.slot = slot, .owner = 7, .has_tree = true});
    return order;
  }
  static StepOrder close(SeqSlot slot) {
    StepOrder order;
    order.changes.push_back({.kind = SlotChange::Kind::kClose, .slot = slot});
    return order;
  }

  ThreadPool threads_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, threads_);
  std::unique_ptr<Drafter> drafter_ = make_null_drafter();
  GatedModel model_{*ops_};
  Step step_{*ops_, model_, *drafter_, kSlots};
  const std::vector<Token> text_{1, 2, 3};
  SamplingParams params_;
};

class StepRunnerTest : public Rig, public testing::TestWithParam<bool> {};

TEST_P(StepRunnerTest, steps_follow_each_other_without_being_told_what_was_found) {
  StepRunner runner(step_, GetParam());
  std::vector<StepHandle> handles;
  handles.push_back(runner.launch(order_of(0, text_, params_)));
  for (int i = 0; i < 2; ++i) handles.push_back(runner.launch(next(0)));
  for (StepHandle& handle : handles) {
    EXPECT_EQ(handle.wait().walk.seqs.at(0).emitted.size(), 1U);
    EXPECT_EQ(handle.order().entries.at(0).owner, 7U);
  }
  EXPECT_EQ(step_.table().length[0], 5);
}

TEST_P(StepRunnerTest, a_text_that_has_ended_is_not_computed_any_more) {
  StepRunner runner(step_, GetParam());
  std::vector<StepHandle> handles;
  handles.push_back(runner.launch(order_of(0, text_, params_)));
  for (int i = 0; i < 4; ++i) handles.push_back(runner.launch(next(0)));
  EXPECT_EQ(handles[2].wait().walk.seqs.size(), 1U) << "its third token, and last";
  EXPECT_TRUE(handles[3].wait().walk.seqs.empty());
  EXPECT_TRUE(handles[4].wait().walk.seqs.empty());
  EXPECT_TRUE(handles[4].order().entries.empty());
}

TEST_P(StepRunnerTest, a_slot_that_was_closed_is_another_s) {
  StepRunner runner(step_, GetParam());
  StepHandle first = runner.launch(order_of(0, text_, params_));
  StepOrder handed_over = close(0);
  const std::vector<Token> other{9, 8, 7, 6};
  const StepOrder second = order_of(0, other, params_);
  handed_over.changes.insert(handed_over.changes.end(), second.changes.begin(),
                             second.changes.end());
  handed_over.entries = second.entries;
  StepHandle then = runner.launch(std::move(handed_over));
  EXPECT_EQ(first.wait().walk.seqs.size(), 1U);
  EXPECT_EQ(then.wait().walk.seqs.size(), 1U);
  EXPECT_EQ(step_.table().length[0], 4);
}

TEST_P(StepRunnerTest, penalties_count_what_steps_found) {
  params_.frequency_penalty = 0.5F;
  StepRunner runner(step_, GetParam());
  StepHandle first = runner.launch(order_of(0, text_, params_));
  const Token found = first.wait().walk.seqs.at(0).emitted.at(0).token;
  const TokenCounts* counts = first.order().entries.at(0).counts;
  ASSERT_NE(counts, nullptr);
  EXPECT_EQ(counts->find(found)->output_count, 1);
  EXPECT_TRUE(counts->find(2)->in_prompt);
}

TEST_P(StepRunnerTest, behind_a_step_that_failed_nothing_is_computed_until_all_is_reset) {
  StepRunner runner(step_, GetParam());
  model_.failures = 1;
  StepHandle failed = runner.launch(order_of(0, text_, params_));
  StepHandle behind = runner.launch(next(0));
  EXPECT_THROW(failed.wait(), std::bad_alloc);
  EXPECT_THROW(behind.wait(), std::bad_alloc);
  EXPECT_EQ(model_.forwards, 1);
  runner.reset();
  EXPECT_EQ(step_.table().length[0], 0);
  EXPECT_TRUE(step_.table().pages[0].empty());
  EXPECT_EQ(runner.launch(order_of(0, text_, params_)).wait().walk.seqs.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(HasThread, StepRunnerTest, testing::Bool());

class StepRunnerThread : public Rig, public testing::Test {};

TEST_F(StepRunnerThread, launching_does_not_wait_and_what_is_not_computed_cannot_be_read) {
  model_.gate = std::make_unique<std::latch>(1);
  StepRunner runner(step_, true);
  StepHandle handle = runner.launch(order_of(0, text_, params_));
  EXPECT_DEATH(handle.order(), "read before it was computed");
  model_.gate->count_down();
  EXPECT_EQ(handle.wait().walk.seqs.size(), 1U);
}

}  // namespace
}  // namespace foretoken::step_runner_test
