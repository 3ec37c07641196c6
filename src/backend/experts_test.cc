// Routers and mixtures of experts: which experts a row gets, and that a row's result is that of the
// row alone, on every instruction set, in both orders, for all kinds of weights.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/expert_rows.h"
#include "backend/testing/ops_test_kit.h"

namespace foretoken {
namespace {

struct Chosen {
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

Chosen choose(const Routing& routing, const std::vector<float>& scores,
              const std::vector<float>& bias = {}) {
  Chosen chosen{std::vector<std::int32_t>(static_cast<std::size_t>(routing.chosen)),
                std::vector<float>(static_cast<std::size_t>(routing.chosen))};
  choose_experts(routing, scores, bias, chosen.experts.data(), chosen.weights.data());
  return chosen;
}

using Numbers = std::vector<std::int32_t>;

TEST(Router, takes_the_largest_scores_by_rising_number) {
  const Chosen chosen = choose({.experts = 5, .chosen = 2}, {0.1F, 0.4F, 0.05F, 0.3F, 0.15F});
  EXPECT_EQ(chosen.experts, (Numbers{1, 3}));
  EXPECT_EQ(chosen.weights, (std::vector{0.4F, 0.3F}));
}

TEST(Router, takes_the_first_of_equals) {
  EXPECT_EQ(choose({.experts = 4, .chosen = 2}, {0.2F, 0.3F, 0.3F, 0.3F}).experts, (Numbers{1, 2}));
}

TEST(Router, divides_by_the_sum_before_it_scales) {
  const Chosen chosen =
      choose({.experts = 3, .chosen = 2, .normalises = true, .scale = 2.5F}, {0.1F, 0.3F, 0.5F});
  EXPECT_NEAR(chosen.weights[0], 2.5 * 0.3 / 0.8, 1e-6);
  EXPECT_NEAR(chosen.weights[1], 2.5 * 0.5 / 0.8, 1e-6);
}

TEST(Router, a_bias_chooses_but_does_not_weigh) {
  const Chosen chosen =
      choose({.experts = 3, .chosen = 1}, {0.1F, 0.3F, 0.5F}, {0.9F, 0.0F, -0.1F});
  EXPECT_EQ(chosen.experts, (Numbers{0}));
  EXPECT_EQ(chosen.weights, (std::vector{0.1F}));
}

// Expert 0 is the best of all, but its group is not.
TEST(Router, keeps_to_the_best_groups) {
  const std::vector<float> scores{0.9F, 0.0F, 0.6F, 0.5F, 0.1F, 0.2F};
  const Routing by_two{.experts = 6, .chosen = 2, .groups = 3, .kept_groups = 1, .group_tops = 2};
  EXPECT_EQ(choose(by_two, scores).experts, (Numbers{2, 3}));
  const Routing by_one{.experts = 6, .chosen = 2, .groups = 3, .kept_groups = 1, .group_tops = 1};
  EXPECT_EQ(choose(by_one, scores).experts, (Numbers{0, 1}));
}

TEST(Router, a_negative_rank_in_a_kept_group_comes_before_other_groups) {
  const Routing routing{.experts = 4, .chosen = 2, .groups = 2, .kept_groups = 1, .group_tops = 1};
  EXPECT_EQ(choose(routing, {0.5F, 0.1F, 0.4F, 0.4F}, {0, -0.9F, 0, 0}).experts, (Numbers{0, 1}));
}

TEST(Router, what_is_no_number_comes_last) {
  EXPECT_EQ(choose({.experts = 3, .chosen = 2}, {NAN, 0.1F, 0.2F}).experts, (Numbers{1, 2}));
  const Chosen all = choose({.experts = 2, .chosen = 2}, {NAN, NAN});
  EXPECT_EQ(all.experts, (Numbers{0, 1}));
  EXPECT_TRUE(std::isnan(all.weights[0]));
}

// A backend with experts of one kind of weights.
class Mix {
 public:
  static constexpr int kExperts = 6, kChosen = 3;

  Mix(const std::string& isa, const std::string& order, int hidden, int inner, DType dtype,
      const WeightFormat& format, bool has_bias = false)
      : machine_(machine(isa, 3, order)) {
    Batch batch;
    ops().layout({}, DraftTrees(1, 1), SeqTable(1), batch);
    for (int e = 0; e < kExperts; ++e) {
      constexpr double kMost = 0.2;  // of a weight
      const std::vector<Tensor> gate_up{values(inner, hidden, 2 * e, kMost),
                                        values(inner, hidden, 2 * e + 1, kMost)};
      const std::vector<Tensor> down{values(hidden, inner, 50 + e, kMost)};
      const auto bias = [&](int width, int seed) {
        return has_bias ? Tensor(values(1, width, seed, kMost).f32(), DType::kF32, {width})
                        : Tensor();
      };
      const std::vector<Tensor> in_bias{bias(inner, 70 + e), bias(inner, 80 + e)};
      const std::vector<Tensor> out_bias{bias(hidden, 90 + e)};
      weights_.push_back(
          ops().pack({.weights = gate_up, .biases = in_bias, .dtype = dtype, .format = format}));
      weights_.push_back(
          ops().pack({.weights = down, .biases = out_bias, .dtype = dtype, .format = format}));
      experts_.push_back({weights_.end()[-2].get(), weights_.back().get()});
    }
  }

  Ops& ops() { return *machine_.ops; }
  std::span<const ExpertLinears> experts() const { return experts_; }

  Tensor values(std::int64_t rows, std::int64_t width, int seed, double most = 1) {
    const Tensor x = ops().alloc(DType::kF32, {rows, width});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.f32()[i] = static_cast<float>(most * std::sin(static_cast<double>(i) * 0.7 + seed * 1.3));
    return x;
  }

  // Each row by a router of its own values.
  Rows run(const Tensor& x) {
    const std::int64_t rows = x.dim(0);
    const Tensor logits = ops().temp(DType::kF32, {rows, kExperts});
    for (std::int64_t r = 0; r < rows; ++r)
      for (int e = 0; e < kExperts; ++e) logits.row_f32(r)[e] = 3.0F * x.row_f32(r)[e + 1];
    const Tensor chosen = ops().temp(DType::kI32, {rows, kChosen});
    const Tensor weights = ops().temp(DType::kF32, {rows, kChosen});
    ops().route(logits, {.experts = kExperts, .chosen = kChosen}, {}, chosen, weights);
    const Tensor out = ops().temp(DType::kF32, x.shape());
    std::fill_n(out.f32(), out.elements(), NAN);
    ops().mix_experts(experts_, Activation::kSilu, x, chosen, weights, out);
    Rows result;
    for (std::int64_t r = 0; r < rows; ++r)
      result.emplace_back(out.row_f32(r), out.row_f32(r) + x.dim(1));
    return result;
  }

 private:
  Machine machine_;
  std::vector<std::unique_ptr<PackedLinear>> weights_;
  std::vector<ExpertLinears> experts_;
};

TEST(Router, weighs_each_expert_by_a_scale_of_its_own) {
  for (const char* device : {"reference", "cpu"}) {
    ThreadPool pool(1, false);
    const auto ops = make_backend({.device = device}, pool);
    const auto vector = [&](std::vector<float> values) {
      const Tensor made = ops->alloc(DType::kF32, {1, std::ssize(values)});
      std::ranges::copy(values, made.f32());
      return made;
    };
    const Tensor logits = vector({0, 3, 1, 3}), scales = vector({9, 0.5F, 9, -2});
    const Tensor chosen = ops->alloc(DType::kI32, {1, 2}), weights = vector({0, 0});
    const Routing routing{.experts = 4, .chosen = 2, .normalises = true};
    ops->route(logits, routing, {.bias = {}, .scale = {scales.data(), DType::kF32, {4}}}, chosen,
               weights);
    EXPECT_EQ(chosen_expert(chosen, 0, 0), 1);
    EXPECT_EQ(chosen_expert(chosen, 0, 1), 3);
    EXPECT_FLOAT_EQ(weights.f32()[0], 0.25F);
    EXPECT_FLOAT_EQ(weights.f32()[1], -1.0F);
  }
}

struct Kind {
  DType dtype;
  WeightFormat format = {};
};
const std::vector<Kind> kKinds{
    {DType::kBF16},
    {DType::kF16},
    {DType::kF32},
    {DType::kBF16, {.bits = 8, .rounds_input = true}},
    {DType::kBF16, {.bits = 4, .group = 32, .scale = DType::kBF16}},
    {DType::kBF16, {.bits = 4, .group = 32, .scale = DType::kBF16, .rounds_input = true}}};

// 64 rows and more of one expert are a product of their own; 600 rows are sorted in two parts.
TEST(Experts, a_row_among_others_is_the_row_alone) {
  for (const std::string& isa : cpu_isas())
    for (const char* order : {"tile", "pair"})
      for (const Kind& kind : kKinds)
        for (const auto& [hidden, inner] : {std::pair{96, 64}, {40, 24}}) {
          Mix mix(isa, order, hidden, inner, kind.dtype, kind.format, hidden == 40);
          const int most = isa == "scalar" ? 150 : 600;
          const Tensor x = mix.values(most, hidden, 7);
          const Rows all = mix.run(x);
          for (const int row : {0, 1, 17, 64, most - 1}) {
            const std::string what = isa + " " + order + " " + std::to_string(row);
            expect_same_bytes(mix.run(x.rows(row, 1)), {all[static_cast<std::size_t>(row)]}, what);
          }
          const Rows some = mix.run(x.rows(5, 9));
          expect_same_bytes(some, Rows(all.begin() + 5, all.begin() + 14), isa + " 9 rows");
        }
}

TEST(Experts, agree_with_the_reference) {
  for (const Kind& kind : kKinds) {
    Mix reference("reference", "tile", 96, 64, kind.dtype, kind.format, true);
    const Rows expected = reference.run(reference.values(5, 96, 7));
    Rows first;
    for (const std::string& isa : cpu_isas()) {
      Mix mix(isa, "tile", 96, 64, kind.dtype, kind.format, true);
      const Rows rows = mix.run(mix.values(5, 96, 7));
      expect_near(rows, expected, 0.03, isa);
      if (first.empty()) first = rows;
      expect_same_bytes(rows, first, isa);
    }
  }
}

TEST(Experts, rows_of_no_numbers_stay_alone) {
  Mix mix("scalar", "tile", 96, 64, DType::kBF16, {});
  const Tensor x = mix.values(4, 96, 7);
  const Rows before = mix.run(x);
  std::fill_n(x.row_f32(2), 96, NAN);
  const Rows after = mix.run(x);
  for (const std::size_t row : {0, 1, 3}) expect_same_bytes({after[row]}, {before[row]}, "row");
}

TEST(Experts, gate_rows_weighs_by_the_logistic_function) {
  for (const std::string& isa : cpu_isas()) {
    Mix mix(isa, "tile", 32, 32, DType::kBF16, {});
    const Tensor x = mix.values(2, 32, 1), gate = mix.ops().alloc(DType::kF32, {2, 1});
    const Tensor before = mix.values(2, 32, 1);
    gate.f32()[0] = 0.0F;
    gate.f32()[1] = 2.0F;
    mix.ops().gate_rows(x, gate);
    for (int i = 0; i < 32; ++i) {
      EXPECT_FLOAT_EQ(x.row_f32(0)[i], before.row_f32(0)[i] * 0.5F);
      EXPECT_NEAR(x.row_f32(1)[i], before.row_f32(1)[i] / (1 + std::exp(-2.0)), 1e-6);
    }
  }
}

}  // namespace
}  // namespace foretoken
