#include "backend/cpu/matmul/product_tuner.h"

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"

namespace foretoken {
namespace {

TEST(ProductPlan, says_what_it_is_and_reads_what_it_says) {
  const ProductPlan plan{.cols = 64, .share = 2, .step_k = 256, .prefetch = 4096};
  EXPECT_EQ(plan.str(), "cols 64, share 2, step 256, prefetch 4096");
  EXPECT_EQ(parse_plan(plan.str()), plan);
  EXPECT_EQ(ProductPlan{}.str(), "usual");
  EXPECT_EQ(parse_plan("usual"), ProductPlan{});
  EXPECT_EQ(parse_plan("prefetch 128"), ProductPlan{.prefetch = 128});
}

TEST(ProductPlan, refuses_what_no_kernel_can_use) {
  for (const char* text :
       {"", "cols", "cols ", "cols 0", "cols 33", "cols -32", "cols 64,", "cols 8192", "cols 64, ",
        "step 16", "prefetch 7", "prefetch 99999999999999999999", "speed 3", "cols 64 step 256",
        "share 2000", "usual, cols 64"})
    EXPECT_FALSE(parse_plan(text)) << text;
}

TEST(ProductPlans, have_classes_of_rows) {
  EXPECT_EQ(ProductPlans::class_of(1), 0U);
  EXPECT_EQ(ProductPlans::class_of(2), 1U);
  EXPECT_EQ(ProductPlans::class_of(4), 1U);
  EXPECT_EQ(ProductPlans::class_of(128), 6U);
  ProductPlans plans;
  plans.set(1, {.cols = 64});
  EXPECT_EQ(plans.of(3).cols, 64);
  EXPECT_EQ(plans.of(5).cols, 0);
  EXPECT_EQ(plans.of(100000), ProductPlan{});
}

// A machine on which the time of a plan is a formula.
double made_up(const ProductPlan& plan) {
  double seconds = 1;
  if (plan.cols == 128) seconds *= 0.8;
  if (plan.cols == 256) seconds *= 0.9;
  if (plan.prefetch == 12288) seconds *= 0.9;
  if (plan.prefetch == 8192) seconds *= 0.99;  // less than clocks can tell
  if (plan.share == 12) seconds *= 2;
  return seconds;
}

TEST(ChoosePlan, takes_what_is_faster_and_leaves_the_rest_as_it_is) {
  const PlanChoice few = choose_plan(1, made_up);
  EXPECT_EQ(few.plan, (ProductPlan{.cols = 128, .prefetch = 12288}));
  EXPECT_DOUBLE_EQ(few.usual_seconds, 1);
  EXPECT_DOUBLE_EQ(few.tuned_seconds, 0.72);
  EXPECT_EQ(choose_plan(64, made_up).plan, few.plan);
}

TEST(ChoosePlan, keeps_the_usual_plan_where_none_is_faster) {
  const PlanChoice choice = choose_plan(64, [](const ProductPlan&) { return 1.0; });
  EXPECT_EQ(choice.plan, ProductPlan{});
  EXPECT_EQ(choice.tuned_seconds, choice.usual_seconds);
}

// One plan looks faster while it is tried and is not, when it is asked again.
TEST(ChoosePlan, asks_again_before_it_leaves_the_usual_plan) {
  int lies = 0;
  const PlanChoice choice = choose_plan(1, [&](const ProductPlan& plan) {
    if (plan.cols == 64 && plan.prefetch == 0 && ++lies <= 5) return 0.5;
    return 1.0;
  });
  EXPECT_GT(lies, 0);
  EXPECT_EQ(choice.plan, ProductPlan{});
}

std::vector<ProductPlan> odd_plans() {
  return {{.cols = 32},
          {.cols = 96, .step_k = 32},
          {.cols = 256, .share = 1, .step_k = 96, .prefetch = 64},
          {.cols = 4096, .share = 1024, .step_k = 65536, .prefetch = 1 << 20},
          {.share = 12, .step_k = 1024, .prefetch = 4096}};
}

struct Case {
  DType dtype;
  std::int64_t in, out;
  WeightFormat format = {};
  std::string name = {};
};

std::vector<Case> cases() {
  return {{DType::kBF16, 200, 333, {}, "200 to 333 bfloat16"},
          {DType::kBF16, 1100, 128, {}, "1100 to 128 bfloat16"},
          {DType::kF16, 75, 90, {}, "75 to 90 float16"},
          {DType::kF32, 75, 90, {}, "75 to 90 float32"},
          {DType::kBF16, 1100, 90, {.bits = 8, .rounds_input = true}, "1100 to 90 int8 a8"},
          {DType::kBF16, 1100, 90, {.bits = 4, .group = 32}, "1100 to 90 int4/32"},
          {DType::kBF16,
           1100,
           90,
           {.bits = 4, .group = 96, .rounds_input = true},
           "1100 to 90 int4/96 a8"}};
}

// y of all rows, with each plan.
TEST(ProductPlan, does_not_show_in_a_bit) {
  for (const std::string& isa : cpu_isas())
    for (const char* order : {"tile", "pair"})
      for (const Case& c : cases()) {
        ThreadPool pool(2, false);
        const BackendConfig config{.device = "cpu", .cpu_isa = isa, .gemm_order = order};
        const auto ops = make_backend(config, pool);
        std::vector<float> values(at(c.in * c.out));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = value_of(3, 1, static_cast<std::int64_t>(i));
        const Tensor matrix(values.data(), DType::kF32, {c.out, c.in});
        const auto w = ops->pack(
            {.weights = {&matrix, 1}, .biases = {}, .dtype = c.dtype, .format = c.format});
        for (const int rows : ProductPlans::kRows) {
          const auto product = [&] {
            std::vector<float> x(at(rows * c.in)), y(at(rows * c.out));
            for (std::size_t i = 0; i < x.size(); ++i)
              x[i] = value_of(4, 2, static_cast<std::int64_t>(i));
            ops->linear(*w, {x.data(), DType::kF32, {rows, c.in}},
                        {y.data(), DType::kF32, {rows, c.out}});
            return y;
          };
          const std::vector<float> usual = product();
          for (const ProductPlan& plan : odd_plans()) {
            std::vector<TunedProduct> known;
            for (const int some : ProductPlans::kRows)
              known.push_back({.name = c.name, .rows = some, .plan = plan.str()});
            const auto tuned = ops->tune(128, known);
            ASSERT_EQ(tuned.size(), known.size());
            ASSERT_EQ(tuned[0].plan, plan.str());
            ASSERT_EQ(product(), usual)
                << isa << " " << order << ", " << rows << " rows, " << c.name << ", " << plan.str();
          }
        }
      }
}

TEST(TuneProducts, measures_what_is_not_known_up_to_the_rows_that_are_asked_for) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  std::vector<float> values(64 * 64, 1.0F);
  const Tensor matrix(values.data(), DType::kF32, {64, 64});
  const auto one = ops->pack({.weights = {&matrix, 1}, .biases = {}, .dtype = DType::kBF16});
  const auto other = ops->pack({.weights = {&matrix, 1}, .biases = {}, .dtype = DType::kF32});
  const std::vector<TunedProduct> known{{.name = "64 to 64 bfloat16",
                                         .rows = 1,
                                         .plan = "cols 64",
                                         .usual_seconds = 2,
                                         .tuned_seconds = 1},
                                        {.name = "64 to 64 float32",
                                         .rows = 1,
                                         .plan = "broken",
                                         .usual_seconds = 9,
                                         .tuned_seconds = 9},
                                        {.name = "1 to 2 float32", .rows = 1, .plan = "cols 64"}};
  const auto tuned = ops->tune(4, known);
  ASSERT_EQ(tuned.size(), 4U) << "two shapes, two classes";
  EXPECT_EQ(tuned[0].plan, "cols 64");
  EXPECT_EQ(tuned[0].tuned_seconds, 1);
  EXPECT_EQ(tuned[2].name, "64 to 64 float32");
  EXPECT_NE(tuned[2].plan, "broken");
  for (const TunedProduct& product : tuned) EXPECT_LE(product.tuned_seconds, product.usual_seconds);
  const auto plan_of = [](const PackedLinear& w, int rows) {
    return dynamic_cast<const CpuLinear&>(w).plans().of(rows).str();
  };
  EXPECT_EQ(plan_of(*one, 1), tuned[0].plan);
  EXPECT_EQ(plan_of(*one, 4), tuned[1].plan);
  EXPECT_EQ(plan_of(*other, 1), tuned[2].plan);
  EXPECT_EQ(plan_of(*other, 4), tuned[3].plan);
}

}  // namespace
}  // namespace foretoken
