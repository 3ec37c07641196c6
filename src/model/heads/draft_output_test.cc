#include "model/heads/draft_output.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "base/index.h"
#include "base/rng.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken::draft_output_test {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kVocab = 96, kHidden = 64;

class DraftOutputTest : public testing::TestWithParam<const char*> {
 protected:
  DraftOutputTest()
      : pool_(2, false),
        ops_(make_backend({.device = GetParam()}, pool_)),
        matrix_(at(kVocab * kHidden) * sizeof(float)) {
    const Tensor rows = matrix_.view(DType::kF32, {kVocab, kHidden});
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      rows.f32()[i] = gumbel_noise(5, 0, static_cast<Token>(i));
    whole_ = ops_->pack({.weights = {&rows, 1}, .biases = {}});
  }

  DraftOutput output() {
    return {*ops_,
            *whole_,
            DType::kBF16,
            {},
            DraftedTokens({90, 4, 17}, kVocab, {.groups = 2, .group_size = 2})};
  }

  // Of two rows; the logits of the whole matrix, and those of the part.
  void expect_the_same(DraftOutput& part) {
    const Tensor hidden = ops_->temp(DType::kF32, {2, kHidden});
    for (std::int64_t i = 0; i < hidden.elements(); ++i)
      hidden.f32()[i] = static_cast<float>(i % 7) - 3.0F;
    const Tensor all = ops_->temp(DType::kF32, {2, kVocab});
    ops_->linear(*whole_, hidden, all);
    const Tensor some = part.logits(*ops_, hidden);
    ops_->read_back();
    const auto tokens = part.tokens();
    ASSERT_EQ(some.dim(1), static_cast<std::int64_t>(tokens.size()));
    for (std::int64_t row = 0; row < 2; ++row)
      for (std::size_t i = 0; i < tokens.size(); ++i)
        EXPECT_EQ(some.row_f32(row)[i], all.row_f32(row)[tokens[i]]) << "token " << tokens[i];
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  Buffer matrix_;
  std::unique_ptr<PackedLinear> whole_;
};

TEST_P(DraftOutputTest, has_the_logits_of_the_whole_matrix) {
  DraftOutput part = output();
  expect_the_same(part);
  part.see(std::vector<Token>{30, 31, 32, 33, 34});
  EXPECT_THAT(part.tokens(), ElementsAre(90, 4, 17, 34, 32, 33));
  expect_the_same(part);
}

TEST_P(DraftOutputTest, counts_its_groups_as_full) {
  DraftOutput part = output();
  EXPECT_EQ(part.most_columns(), 7);
  EXPECT_GE(part.logit_bytes(2), 2 * (7 + 3) * sizeof(float));
  const std::size_t bytes = part.bytes();
  part.see(std::vector<Token>{30, 31, 32, 33});
  EXPECT_EQ(part.bytes(), bytes);
}

INSTANTIATE_TEST_SUITE_P(Backends, DraftOutputTest, testing::Values("reference", "cpu"),
                         [](const auto& of) { return std::string(of.param); });

// From the second time on there is no memory for rows.
class FullOps final : public Delegate {
 public:
  using Delegate::Delegate;
  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    if (calls_++ > 0) throw std::bad_alloc();
    return Delegate::pack_rows(w, rows, dtype, format);
  }

 private:
  int calls_ = 0;
};

TEST(DraftOutputWithoutMemory, proposes_what_it_has) {
  ThreadPool pool(1, false);
  FullOps ops(make_backend({.device = "reference"}, pool));
  const Buffer memory(at(8 * kHidden) * sizeof(float));
  const Tensor rows = memory.view(DType::kF32, {8, kHidden});
  const auto whole = ops.pack({.weights = {&rows, 1}, .biases = {}});
  DraftOutput part(ops, *whole, DType::kBF16, {},
                   DraftedTokens({1}, 8, {.groups = 1, .group_size = 4}));
  part.see(std::vector<Token>{5});
  EXPECT_THAT(part.tokens(), ElementsAre(1));
}

}  // namespace
}  // namespace foretoken::draft_output_test
