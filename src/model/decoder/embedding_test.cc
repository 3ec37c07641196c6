// Which form the vectors of tokens are kept in, and what it costs.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr std::int64_t kVocab = 77, kHidden = 40;

// Counts how rows are gathered.
class CountingGathers final : public Delegate {
 public:
  using Delegate::Delegate;
  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    ++from_packed;
    Delegate::embed(table, tokens, out);
  }
  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    ++from_rows;
    Delegate::look_up(table, tokens, out);
  }
  int from_packed = 0, from_rows = 0;
};

class EmbeddingTest : public testing::Test {
 protected:
  EmbeddingTest()
      : pool_(2, false),
        ops_(make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, pool_)) {}

  std::unique_ptr<Decoder> decoder(bool is_tied, DType dtype) {
    ModelConfig config;
    config.layers = 1;
    config.hidden = kHidden;
    config.intermediate = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.head_dim = 16;
    config.vocab = kVocab;
    config.max_position = config.context_length = 16;
    config.tied_embeddings = is_tied;
    return std::make_unique<Decoder>(ops_, config, *dummy_weights(3), dtype);
  }

  // One forward of three rows.
  void run(const Decoder& decoder) {
    Runner runner(ops_, decoder, 1);
    DraftTrees trees(1, 1);
    SeqTable table(1);
    table.pages[0] = {0};
    const std::vector<Token> text{5, 76, 0};
    StepPlan plan;
    plan.entries.push_back({.slot = 0, .chain = text});
    Batch batch;
    ops_.layout(plan, trees, table, batch);
    runner.forward(batch, FeatureTaps{});
  }

  ThreadPool pool_;
  CountingGathers ops_;
};

TEST_F(EmbeddingTest, one_that_is_only_looked_up_lies_in_plain_rows) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    const auto untied = decoder(false, dtype);
    const Tensor rows = untied->embedding().rows();
    expect(rows, {kVocab, kHidden}, dtype);
    EXPECT_EQ(untied->embedding().packed(), nullptr);
    // A token's vector is one piece of memory: width * bytes / 64 cache lines and one at most.
    EXPECT_EQ(rows.rows(1, 1).bytes(), static_cast<std::size_t>(kHidden) * dtype_bytes(dtype));
    if (dtype == DType::kBF16) {
      const auto source = dummy_weights(3);
      const Tensor stored = *source->find("model.embed_tokens.weight", {kVocab, kHidden});
      ASSERT_EQ(stored.bytes(), rows.bytes());
      EXPECT_EQ(std::memcmp(stored.data(), rows.data(), rows.bytes()), 0);
    }
    ops_.from_packed = ops_.from_rows = 0;
    run(*untied);
    EXPECT_EQ(ops_.from_rows, 1);
    EXPECT_EQ(ops_.from_packed, 0);
  }
}

TEST_F(EmbeddingTest, one_that_is_the_output_matrix_is_kept_once) {
  const auto tied = decoder(true, DType::kBF16), untied = decoder(false, DType::kBF16);
  EXPECT_TRUE(tied->embedding().rows().empty());
  EXPECT_EQ(tied->embedding().packed(), &tied->head());
  run(*tied);
  EXPECT_EQ(ops_.from_packed, 1);
  EXPECT_EQ(ops_.from_rows, 0);
  // Plain rows are counted, to the byte; both have the same output matrix.
  EXPECT_EQ(untied->weight_bytes() - tied->weight_bytes(),
            static_cast<std::size_t>(kVocab * kHidden) * dtype_bytes(DType::kBF16));
}

TEST_F(EmbeddingTest, a_step_reads_the_rows_of_its_tokens_or_the_whole_output_matrix) {
  const auto tied = decoder(true, DType::kBF16), untied = decoder(false, DType::kBF16);
  EXPECT_EQ(tied->step_bytes(1), static_cast<double>(tied->weight_bytes()));
  constexpr double kRow = kHidden * 2;
  EXPECT_NEAR(untied->step_bytes(3), static_cast<double>(tied->weight_bytes()) + 3 * kRow, 1e-6);
  EXPECT_EQ(untied->step_bytes(kVocab + 1), static_cast<double>(untied->weight_bytes()));
}

}  // namespace
}  // namespace foretoken
