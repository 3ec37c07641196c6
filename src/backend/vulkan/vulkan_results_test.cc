// What the host reads of a step on a device: the tokens and probabilities of the CPU, to the bit,
// over random, tied and poisoned logits; and how few bytes cross the bus. The device is llvmpipe
// (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name where there is none.

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/host_step.h"
#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "backend/vulkan/arithmetic.h"
#include "backend/vulkan/row_search.h"
#include "backend/vulkan/vulkan_results.h"

namespace foretoken::vulkan_results_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> replaced(std::vector<float> row, std::size_t every, float value) {
  for (std::size_t i = every / 2; i < row.size(); i += every) row[i] = value;
  return row;
}

std::vector<float> rounded(std::vector<float> row, float step) {
  for (float& x : row) x = std::round(x / step) * step;
  return row;
}

struct NamedRow {
  std::string name;
  std::vector<float> values;
};

std::vector<NamedRow> rows_of(std::int64_t vocab) {
  const auto n = at(vocab);
  const auto random = [&](std::int64_t kind, float factor) {
    return some_values(kind, vocab, factor);
  };
  const auto constant = [&](float value) { return std::vector<float>(n, value); };
  return {{"random", random(1, 6)},
          {"flat", random(2, 0.01F)},
          {"tied", rounded(random(3, 4), 0.5F)},
          {"all equal", constant(1.25F)},
          {"zeros of both signs", replaced(constant(0.0F), 2, -0.0F)},
          {"denormals", replaced(constant(1e-40F), 3, -1e-39F)},
          {"some NaN", replaced(random(4, 5), 7, std::nanf(""))},
          {"all NaN", constant(std::nanf(""))},
          {"all barred", constant(-kInf)},
          {"few not barred", replaced(constant(-kInf), 97, 2.0F)},
          {"infinite ones", replaced(random(5, 5), 50, kInf)},
          {"huge ones", replaced(replaced(random(6, 5), 40, 2e30F), 90, 1.5e30F)},
          {"very low", constant(-2e30F)},
          {"neighbours", replaced(constant(20.0F), 5, std::nextafter(20.0F, 21.0F))}};
}

std::uint32_t bits_of(float x) {
  return std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x);
}

struct Step;

class VulkanResultsTest : public GpuFixture {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    context_ = std::make_unique<VulkanContext>(VulkanOptions{.device = test_device()});
    probe_arithmetic(*context_);
    scratch_ = std::make_unique<GpuArena>(*context_);
    results_ = std::make_unique<VulkanResults>(*context_, *scratch_, *cpu_, *pool_);
  }

  Tensor put(const std::vector<float>& values, std::int64_t vocab) {
    const auto rows = static_cast<std::int64_t>(values.size()) / vocab;
    const Tensor to = scratch_->alloc(DType::kF32, {rows, vocab});
    context_->load(address_of(to), to.bytes(), [&](std::size_t offset, std::span<std::byte> piece) {
      std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(values.data()) + offset,
                  piece.size());
    });
    return to;
  }
  void begin() {
    results_->forget();
    scratch_->reset();
    context_->recorder.begin_frame();
  }

  // The walk of a step with these logits, by both.
  void expect_cpus_walk(const Step& step, std::vector<float> logits, std::int64_t vocab,
                        const std::string& what);
  void expect_same_top(const std::vector<float>& values, std::int64_t vocab, int k,
                       const std::string& what) {
    begin();
    TopTokens found, expected;
    std::vector<float> copy = values;
    const auto rows = static_cast<std::int64_t>(values.size()) / vocab;
    results_->top_tokens(put(values, vocab), k, found);
    results_->read_back();
    cpu_->top_tokens(Tensor(copy.data(), DType::kF32, {rows, vocab}), k, expected);
    cpu_->read_back();
    ASSERT_EQ(found.token, expected.token) << what;
    ASSERT_EQ(found.probability.size(), expected.probability.size());
    for (std::size_t i = 0; i < found.probability.size(); ++i)
      ASSERT_EQ(bits_of(found.probability[i]), bits_of(expected.probability[i]))
          << what << " " << i;
  }

  std::unique_ptr<VulkanContext> context_;
  std::unique_ptr<GpuArena> scratch_;
  std::unique_ptr<VulkanResults> results_;
};

TEST_F(VulkanResultsTest, top_tokens_are_those_of_the_cpu) {
  for (const std::int64_t vocab : {1, 3, 16, 65, 333, 5000, 33000})
    for (const int k : {1, 2, 7, 64, 65}) {
      std::vector<float> all;
      for (const NamedRow& row : rows_of(vocab)) {
        all.insert(all.end(), row.values.begin(), row.values.end());
        if (k == 7)
          expect_same_top(row.values, vocab, k, row.name + " of " + std::to_string(vocab));
      }
      expect_same_top(all, vocab, k, std::to_string(k) + " of " + std::to_string(vocab));
    }
}

// A tree for each row of logits and parameter, its nodes being the row in turns.
struct Step {
  Step(std::vector<SamplingParams> of, const std::vector<std::vector<std::int32_t>>& parents)
      : all(std::move(of)),
        trees(static_cast<int>(all.size()), kMaxTreeNodes),
        table(static_cast<int>(all.size())) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto slot = static_cast<SeqSlot>(i);
      trees.plant(slot, 5);
      const auto& tree = parents[i % parents.size()];
      for (std::size_t n = 1; n < tree.size(); ++n)
        trees.grow(slot, tree[n], static_cast<Token>(n % 3));
      table.length[i] = static_cast<std::int32_t>(20 + i);
      table.pages[i] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
      plan.entries.push_back(
          {.slot = slot, .has_tree = true, .params = &all[i], .tokens_left = 99});
    }
    layout_rows(plan, trees, table, batch);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  std::int64_t rows() const { return static_cast<std::int64_t>(batch.logit_rows.size()); }

  std::vector<SamplingParams> all;
  StepPlan plan;
  DraftTrees trees;
  SeqTable table;
  Batch batch;
};

std::vector<SamplingParams> all_params() {
  std::vector<SamplingParams> all;
  const auto add = [&](float temperature, int top_k, float top_p, float min_p) {
    SamplingParams params;
    params.temperature = temperature;
    params.top_k = top_k;
    params.top_p = top_p;
    params.min_p = min_p;
    params.seed = 0x123456789abcULL + all.size();
    params.top_logprobs = -1;
    all.push_back(params);
  };
  for (const float temperature : {0.0F, 0.6F, 1.0F, 1e-4F, 5.0F}) {
    add(temperature, -1, 1.0F, 0.0F);
    add(temperature, 1, 1.0F, 0.0F);
    add(temperature, 20, 0.9F, 0.05F);
    add(temperature, 64, 1.0F, 0.0F);
    add(temperature, 65, 0.7F, 0.0F);
    add(temperature, -1, 0.8F, 0.0F);
    add(temperature, -1, 1.0F, 0.1F);
  }
  return all;
}

void expect_same_walk(const Walk& found, const Walk& expected, const std::string& what) {
  ASSERT_EQ(found.seqs.size(), expected.seqs.size()) << what;
  for (std::size_t i = 0; i < found.seqs.size(); ++i) {
    const WalkSeq &a = found.seqs[i], &b = expected.seqs[i];
    ASSERT_EQ(a.path, b.path) << what << ", entry " << i;
    ASSERT_EQ(a.emitted.size(), b.emitted.size()) << what << ", entry " << i;
    for (std::size_t j = 0; j < a.emitted.size(); ++j) {
      ASSERT_EQ(a.emitted[j].token, b.emitted[j].token) << what << ", entry " << i;
      ASSERT_EQ(bits_of(a.emitted[j].logprob), bits_of(b.emitted[j].logprob)) << what;
    }
  }
}

void VulkanResultsTest::expect_cpus_walk(const Step& step, std::vector<float> logits,
                                         std::int64_t vocab, const std::string& what) {
  begin();
  Walk found, expected;
  results_->verify(step.plan, step.trees, step.batch, put(logits, vocab), found);
  results_->read_back();
  cpu_->verify(step.plan, step.trees, step.batch,
               Tensor(logits.data(), DType::kF32, {step.rows(), vocab}), expected);
  cpu_->read_back();
  expect_same_walk(found, expected, what);
}

TEST_F(VulkanResultsTest, walks_are_those_of_the_cpu) {
  const std::vector<SamplingParams> params = all_params();
  const Step step(params, {{-1}, {-1, 0, 0}, {-1, 0, 1, 1}});
  for (const std::int64_t vocab : {3, 70, 3000, 33000})
    for (const NamedRow& row : rows_of(vocab)) {
      std::vector<float> logits;
      for (std::int64_t r = 0; r < step.rows(); ++r) {  // another one in each: turned
        const std::int64_t turn = r * 31 % vocab;
        logits.insert(logits.end(), row.values.begin() + turn, row.values.end());
        logits.insert(logits.end(), row.values.begin(), row.values.begin() + turn);
      }
      expect_cpus_walk(step, logits, vocab, row.name + " of " + std::to_string(vocab));
    }
}

// Bytes that a step of trees of four nodes reads, of a row of logits.
TEST_F(VulkanResultsTest, few_bytes_cross_the_bus) {
  constexpr std::int64_t kVocab = 50000;
  const auto bytes_of_row = [&](const SamplingParams& params, const std::vector<float>& values) {
    const Step step(std::vector<SamplingParams>(3, params), {{-1, 0, 1, 1}});
    std::vector<float> logits;
    for (std::int64_t r = 0; r < step.rows(); ++r)
      logits.insert(logits.end(), values.begin(), values.end());
    begin();
    const Tensor x = put(logits, kVocab);
    Walk walk;
    const std::uint64_t before = context_->recorder.received_bytes();
    results_->verify(step.plan, step.trees, step.batch, x, walk);
    results_->read_back();
    EXPECT_EQ(walk.seqs.size(), 3U);
    return (context_->recorder.received_bytes() - before) / static_cast<std::uint64_t>(step.rows());
  };
  constexpr std::uint64_t kWhole = kVocab * sizeof(float);
  const auto random = some_values(8, kVocab, 4);
  SamplingParams params;
  params.top_logprobs = -1;
  params.temperature = 0.0F;
  EXPECT_EQ(bytes_of_row(params, random), 12U) << "how many, the token, its logit";
  params.temperature = 0.8F;
  EXPECT_EQ(bytes_of_row(params, random), 68U) << "up to eight tokens";
  params.top_k = 20;
  EXPECT_EQ(bytes_of_row(params, random), 4U + 28 * 8) << "and up to 28";
  params.top_k = -1;
  EXPECT_EQ(bytes_of_row(params, std::vector<float>(kVocab, kInf)), 68U + kWhole)
      << "noise decides nothing, so all may be drawn";
  params.top_p = 0.9F;
  EXPECT_EQ(bytes_of_row(params, random), kWhole);
}

// Trees whose logits are read whole lie between others.
TEST_F(VulkanResultsTest, rows_of_all_kinds_stand_in_one_step) {
  std::vector<SamplingParams> params = all_params();
  params[0].top_logprobs = 3;
  params[3].logit_bias = {{1, 30.0F}};
  params[9].repetition_penalty = 1.5F;
  params[12].min_new_tokens = 4;
  params[12].stop_tokens = {0, 1};
  Step step(params, {{-1, 0}, {-1, 0, 0, 2, 1}});
  TokenCounts counts;
  counts.add_output(2);
  step.plan.entries[9].counts = &counts;
  constexpr std::int64_t kVocab = 700;
  std::vector<float> logits = some_values(5, step.rows() * kVocab, 3);
  for (std::int64_t r = 0; r < step.rows(); ++r) logits[at(r * kVocab + r % 3)] += 6.0F;
  expect_cpus_walk(step, logits, kVocab, "all kinds");
}

TEST(RowNeeds, are_what_the_parameters_say) {
  const auto need = [](const std::function<void(StepEntry&, SamplingParams&)>& change) {
    SamplingParams params;
    params.top_logprobs = -1;
    StepEntry entry{.params = &params};
    change(entry, params);
    return row_need(entry, 1000);
  };
  EXPECT_EQ(need([](auto&, auto&) {}), RowNeed::kNoisy);
  EXPECT_EQ(need([](auto&, auto& p) { p.temperature = 0; }), RowNeed::kBest);
  EXPECT_EQ(need([](auto&, auto& p) { p.top_k = 1; }), RowNeed::kBest);
  EXPECT_EQ(need([](auto&, auto& p) { p.top_k = 1, p.temperature = 0.5F; }), RowNeed::kTopK);
  EXPECT_EQ(need([](auto&, auto& p) { p.top_k = 64, p.top_p = 0.5F; }), RowNeed::kTopK);
  EXPECT_EQ(need([](auto&, auto& p) { p.top_k = 65; }), RowNeed::kWhole);
  EXPECT_EQ(need([](auto&, auto& p) { p.top_p = 0.5F; }), RowNeed::kWhole);
  EXPECT_EQ(need([](auto&, auto& p) { p.min_p = 0.5F; }), RowNeed::kWhole);
  EXPECT_EQ(need([](auto&, auto& p) { p.temperature = 1e-5F; }), RowNeed::kWhole);
  const auto barred = [&](const std::function<void(StepEntry&, SamplingParams&)>& change) {
    return need([&](StepEntry& entry, SamplingParams& p) {
      p.temperature = 0;
      change(entry, p);
    });
  };
  EXPECT_EQ(barred([](auto&, auto& p) { p.top_logprobs = 0; }), RowNeed::kWhole);
  EXPECT_EQ(barred([](auto&, auto& p) { p.logit_bias = {{1, 1.0F}}; }), RowNeed::kWhole);
  EXPECT_EQ(barred([](auto&, auto& p) { p.presence_penalty = 1; }), RowNeed::kWhole);
  EXPECT_EQ(barred([](auto& e, auto& p) { p.min_new_tokens = 4, e.generated = 3; }),
            RowNeed::kWhole);
  EXPECT_EQ(barred([](auto& e, auto& p) { p.min_new_tokens = 4, e.generated = 4; }),
            RowNeed::kBest);
}

}  // namespace
}  // namespace foretoken::vulkan_results_test
