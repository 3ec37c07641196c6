#include <cmath>

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

std::vector<float> values_of(const WeightSource& source, const std::string& name, Shape shape) {
  const auto tensor = source.find(name, shape);
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor->elements(); ++i)
    values.push_back(bf16_to_f32(tensor->bits16()[i]));
  return values;
}

TEST(DummyWeights, depend_on_seed_and_name_only) {
  const auto a = dummy_weights(1), b = dummy_weights(1), c = dummy_weights(2);
  values_of(*b, "y", {5, 5});
  EXPECT_EQ(values_of(*a, "x", {7, 9}), values_of(*b, "x", {7, 9}));
  EXPECT_EQ(values_of(*a, "x", {7, 9}), values_of(*a, "x", {7, 9}));
  EXPECT_NE(values_of(*a, "x", {7, 9}), values_of(*a, "y", {7, 9}));
  EXPECT_NE(values_of(*a, "x", {7, 9}), values_of(*c, "x", {7, 9}));
}

TEST(DummyWeights, matrices_keep_the_size_of_activations) {
  const auto values = values_of(*dummy_weights(0), "m.weight", {300, 400});
  double sum = 0.0, squares = 0.0;
  for (const float x : values) {
    sum += x;
    squares += double{x} * x;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0.0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / count), 1.0 / 20.0, 1e-3);
}

TEST(DummyWeights, norms_are_one) {
  for (const float x : values_of(*dummy_weights(0), "model.layers.0.input_layernorm.weight", {33}))
    EXPECT_EQ(x, 1.0F);
}

TEST(DummyWeights, a_tensor_that_is_held_is_given_again) {
  const auto weights = dummy_weights(1);
  const Tensor first = *weights->find("w", {4, 8});
  const Tensor other = *weights->find("v", {4, 8});
  EXPECT_EQ(weights->find("w", {4, 8})->data(), first.data());
  EXPECT_NE(other.data(), first.data());
}

}  // namespace
}  // namespace foretoken
