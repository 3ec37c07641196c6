// Prompt rows that nobody reads end where the last layer has stored their keys and values, and all
// other rows have the bits that they have where every row goes on to the end.

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr int kPages = 15;

struct Layers {
  std::vector<int> window = {}, kv = {};
};

class DecoderTail : public testing::TestWithParam<Layers> {
 protected:
  DecoderTail()
      : pool_(2, false),
        ops_(make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, pool_)),
        decoder_(*ops_, config(), *dummy_weights(1), DType::kBF16),
        runner_(*ops_, decoder_, kPages),
        table_(3),
        trees_(3, 8),
        text_(40) {
    std::iota(text_.begin(), text_.end(), 3);
    table_.pages = {{1, 0, 9, 7, 12}, {2, 4, 6, 8, 10}, {3, 5, 11, 13, 14}};
    trees_.plant(0, 7);
    trees_.grow(0, 0, 9);
    trees_.grow(0, 0, 10);
    trees_.grow(0, 1, 11);
    trees_.plant(2, 8);
  }

  static ModelConfig config() {
    ModelConfig config;
    config.layers = 3;
    config.hidden = config.intermediate = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.head_dim = 16;
    config.vocab = 64;
    config.max_position = config.context_length = 128;
    config.layer_window = GetParam().window;
    config.layer_kv = GetParam().kv;
    return config;
  }

  // A prompt's end with a tree behind it, a part of a prompt and, first, rows that are stored.
  void lay_out(Batch& batch, StepPlan& plan) {
    plan.entries.push_back({.slot = 0, .chain = text_});
    ops_->layout(plan, trees_, table_, batch);
    runner_.forward(batch, FeatureTaps{});
    table_.length[0] = 40;
    plan.entries = {{.slot = 0, .chain = std::span(text_).first(17), .has_tree = true},
                    {.slot = 1, .chain = std::span(text_).first(31)},
                    {.slot = 2, .chain = std::span(text_).first(2), .has_tree = true}};
    ops_->layout(plan, trees_, table_, batch);
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  Decoder decoder_;
  Runner runner_;
  SeqTable table_;
  DraftTrees trees_;
  std::vector<Token> text_;
};

std::vector<float> values_of(Tensor rows) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < rows.dim(0); ++row)
    values.insert(values.end(), rows.row_f32(row), rows.row_f32(row) + rows.dim(1));
  return values;
}

TEST_P(DecoderTail, has_the_bits_of_the_whole) {
  Batch batch;
  StepPlan plan;
  lay_out(batch, plan);
  const Features whole = runner_.forward(batch, {.last_hidden = true, .layer_inputs = {}});
  EXPECT_EQ(whole.last_hidden.dim(0), batch.rows);
  EXPECT_TRUE(whole.last_rows.empty());
  const std::vector<float> expected = values_of(runner_.logits(whole, batch));

  // Behind the last layer with keys and values of its own there are no other rows to tap.
  const bool is_shared = !GetParam().kv.empty();
  const Features tail =
      runner_.forward(batch, {.last_hidden = false, .layer_inputs = {is_shared ? 0 : 2}});
  EXPECT_EQ(tail.last_hidden.dim(0), 5);
  EXPECT_EQ(tail.last_rows, batch.logit_rows);
  EXPECT_EQ(tail.taps.at(0).dim(0), batch.rows);
  EXPECT_EQ(values_of(runner_.logits(tail, batch)), expected);

  // A part of what is read, as where logits are made in slices.
  Batch slice = batch;
  slice.logit_rows = {batch.logit_rows.back()};
  const std::vector<float> last(expected.end() - 64, expected.end());
  EXPECT_EQ(values_of(runner_.logits(tail, slice)), last);
}

TEST_P(DecoderTail, is_not_cut_where_all_that_leaves_the_last_layer_is_tapped) {
  Batch batch;
  StepPlan plan;
  lay_out(batch, plan);
  const Features all = runner_.forward(batch, {.last_hidden = false, .layer_inputs = {1, 3}});
  EXPECT_EQ(all.last_hidden.dim(0), batch.rows);
  EXPECT_EQ(all.taps.at(1).dim(0), batch.rows);
}

TEST_P(DecoderTail, is_nothing_where_nobody_reads) {
  Batch batch;
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .chain = text_});
  ops_->layout(plan, trees_, table_, batch);
  const Features none = runner_.forward(batch, FeatureTaps{});
  EXPECT_EQ(none.last_hidden.dim(0), 0);
  EXPECT_EQ(runner_.logits(none, batch).dim(0), 0);
}

INSTANTIATE_TEST_SUITE_P(Windows, DecoderTail,
                         testing::Values(Layers{}, Layers{.window = {0, 0, 8}},
                                         Layers{.kv = {0, 1, 1}}, Layers{.kv = {0, 0, 0}}));

}  // namespace
}  // namespace foretoken
