#include "backend/testing/delayed_ops.h"

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"

namespace foretoken {
namespace {

class Delayed : public testing::Test {
 protected:
  Delayed() {
    ops_ = make_delayed(make_backend({.device = "reference"}, pool_), 5);
    ops_->layout(StepPlan{}, DraftTrees(1, 1), SeqTable(1), batch_);
  }

  // Rows of 4 numbers, row r: 10 r, 10 r + 1, ...
  Tensor rows(int count) {
    std::vector<float> values;
    for (int r = 0; r < count; ++r)
      for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(10 * r + i));
    const Tensor out = ops_->temp(DType::kF32, {count, 4});
    ops_->upload({values.data(), DType::kF32, {count, 4}}, out);
    return out;
  }

  Token best(Tensor row) {
    TopTokens top;
    ops_->top_tokens(row, 1, top);
    ops_->read_back();
    return top.token.at(0);
  }

  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_;
  Batch batch_;
};

TEST_F(Delayed, results_are_there_when_they_were_read_back_and_not_before) {
  const Tensor x = rows(1);
  TopTokens top;
  ops_->top_tokens(x, 1, top);
  EXPECT_TRUE(top.token.empty());
  ops_->read_back();
  EXPECT_EQ(top.token, (std::vector<Token>{3}));
}

TEST_F(Delayed, its_memory_is_not_the_hosts) {
  const Tensor scratch = rows(1), kept = ops_->alloc(DType::kF32, {4});
  ops_->read_back();
  EXPECT_DEATH(EXPECT_EQ(scratch.f32()[0], 0.0F), "");
  EXPECT_DEATH(kept.f32()[0] = 1.0F, "");
}

TEST_F(Delayed, what_it_was_given_may_change) {
  const Tensor x = rows(3), out = ops_->temp(DType::kF32, {1, 4});
  std::vector<std::int32_t> wanted{2};
  std::vector<Addend> addends{{.row = 0, .column = 1, .value = 5}};
  ops_->gather_rows(x, wanted, out);
  ops_->add_elements(out, addends);
  wanted[0] = 1000;
  addends[0] = {.row = 1000, .column = 1000, .value = 0};
  EXPECT_EQ(best(out), 1);
}

TEST_F(Delayed, scratch_that_was_released_is_written_in_order) {
  const Tensor x = rows(2), kept = ops_->temp(DType::kF32, {1, 4});
  {
    const ScratchScope scope(*ops_);
    const Tensor inside = ops_->temp(DType::kF32, {1, 4});
    ops_->gather_rows(x, std::vector<std::int32_t>{1}, inside);
    ops_->gather_rows(inside, std::vector<std::int32_t>{0}, kept);
  }
  const Tensor after = ops_->temp(DType::kF32, {1, 4});
  ops_->gather_rows(x, std::vector<std::int32_t>{0}, after);
  ops_->add_elements(kept, std::vector<Addend>{{.row = 0, .column = 0, .value = 4}});
  EXPECT_EQ(best(kept), 0);
  EXPECT_EQ(best(after), 3);
}

TEST_F(Delayed, a_failure_is_told_by_the_next_wait_and_the_next_layout_starts_anew) {
  constexpr std::int64_t kNobodyHas = std::int64_t{1} << 55;
  ops_->temp(DType::kF32, {1, kNobodyHas});
  EXPECT_THROW(ops_->read_back(), Error);
  ops_->layout(StepPlan{}, DraftTrees(1, 1), SeqTable(1), batch_);
  EXPECT_EQ(best(rows(1)), 3);
}

}  // namespace
}  // namespace foretoken
