#include "model/decoder/halved_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "checkpoint/quantized/stored_codes.h"
#include "checkpoint/testing/test_source.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

ModelConfig config_of(int rotary_dim) {
  ModelConfig config;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 6;
  config.rotary_dim = rotary_dim;
  return config;
}

// Element i of a row [rows, 1] or a vector [rows] is i.
std::unique_ptr<WeightSource> source() {
  auto made = std::make_unique<TensorSource>();
  const auto put = [&](const char* name, const Shape& shape) {
    made->put(name, DType::kF32, shape, 0.0F);
    for (std::int64_t i = 0; i < shape.elements(); ++i) made->set(name, i, static_cast<float>(i));
  };
  put("l.q_proj.weight", {12, 1});
  put("l.k_proj.bias", {6});
  put("l.v_proj.weight", {6, 1});
  put("odd.k_proj.weight", {5, 1});
  return made;
}

std::vector<float> values(const WeightSource& weights, const char* name) {
  const Tensor tensor = weights.find(name, {}).value();
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

TEST(HalvedPairs, rows_of_a_head_are_in_halves) {
  const auto whole = halved_pairs(source(), config_of(0));
  EXPECT_THAT(values(*whole, "l.q_proj.weight"), ElementsAre(0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11));
  EXPECT_THAT(values(*whole, "l.k_proj.bias"), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(values(*whole, "l.v_proj.weight"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values(*whole, "odd.k_proj.weight"), ElementsAre(0, 1, 2, 3, 4))
      << "is refused later";
  EXPECT_FALSE(whole->find("l.o_proj.weight", {}).has_value());
}

TEST(HalvedPairs, what_is_not_rotated_stays_where_it_is) {
  const auto part = halved_pairs(source(), config_of(4));
  EXPECT_THAT(values(*part, "l.k_proj.bias"), ElementsAre(0, 2, 1, 3, 4, 5));
  part->release("l.k_proj.bias");
  EXPECT_THAT(values(*part, "l.k_proj.bias"), ElementsAre(0, 2, 1, 3, 4, 5));
}

// Each row is of one code, its number, with a scale that is the same. Scales of codes stay where
// they are until these are taken apart.
TEST(HalvedPairs, codes_are_taken_in_halves) {
  auto made = std::make_unique<TensorSource>();
  made->put("l.q_proj.weight", DType::kI8, {12, 1}, std::int8_t{0});
  made->put("l.q_proj.weight_scale", DType::kF32, {12, 1}, 0.0F);
  for (int i = 0; i < 12; ++i) {
    made->set("l.q_proj.weight", i, static_cast<std::int8_t>(i));
    made->set("l.q_proj.weight_scale", i, static_cast<float>(i));
  }
  const auto whole = halved_pairs(std::move(made), config_of(0));
  EXPECT_THAT(values(*whole, "l.q_proj.weight_scale"),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  const auto stored = StoredQuantization::parse(
      boost::json::parse(R"({"quant_method":"compressed-tensors","format":"int-quantized",
          "config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int",
          "symmetric":true,"strategy":"channel"}}}})")
          .as_object(),
      "test");
  const auto codes =
      StoredCodes::take(*whole, stored, "l.q_proj", 12, 1, [](const std::string&) {});
  const Buffer floats = codes.value().floats();
  const auto* const begin = static_cast<const float*>(floats.data());
  EXPECT_THAT(std::vector<float>(begin, begin + 12),
              ElementsAre(0, 4, 16, 1, 9, 25, 36, 64, 100, 49, 81, 121));
}

}  // namespace
}  // namespace foretoken
