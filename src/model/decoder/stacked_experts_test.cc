// Stacks of experts' matrices taken apart: what is where, what is released, what is refused.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/stacked_experts.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kPrefix = "model.layers.0.mlp.experts.";

// Tensors in memory, and the names that were released.
class Memory final : public WeightSource {
 public:
  Tensor add(const std::string& name, DType dtype, const Shape& shape) {
    names_.push_back(kPrefix + name);
    Buffer& buffer =
        buffers_.emplace_back(static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype));
    tensors_.push_back(buffer.view(dtype, shape));
    return tensors_.back();
  }
  std::optional<Tensor> find(const std::string& name, const Shape&) const override {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return tensors_[i];
    return std::nullopt;
  }
  std::vector<std::string> names() const override { return names_; }
  std::string where() const override { return "memory"; }
  void release(const std::string& name) const override { released.push_back(name); }
  mutable std::vector<std::string> released;

 private:
  std::vector<std::string> names_;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> tensors_;
};

TEST(StackedExperts, columns_become_rows_of_one_expert) {
  auto memory = std::make_unique<Memory>();
  const Tensor both = memory->add("gate_up_proj", DType::kF32, {2, 3, 4});
  for (int i = 0; i < 24; ++i) both.f32()[i] = static_cast<float>(i);
  const Tensor bias = memory->add("gate_up_proj_bias", DType::kF32, {2, 4});
  for (int i = 0; i < 8; ++i) bias.f32()[i] = static_cast<float>(100 + i);
  const Memory& stored = *memory;
  const auto source = stacked_experts(std::move(memory), ExpertStacks::kTurned);
  EXPECT_THAT(source->names(),
              UnorderedElementsAre(kPrefix + "0.gate_proj.weight", kPrefix + "0.up_proj.weight",
                                   kPrefix + "1.gate_proj.weight", kPrefix + "1.up_proj.weight",
                                   kPrefix + "0.gate_proj.bias", kPrefix + "0.up_proj.bias",
                                   kPrefix + "1.gate_proj.bias", kPrefix + "1.up_proj.bias"));
  const Tensor up = source->find(kPrefix + "1.up_proj.weight", {}).value();
  ASSERT_EQ(up.shape(), (Shape{2, 3}));
  EXPECT_EQ(std::vector<float>(up.f32(), up.f32() + 6),
            (std::vector<float>{13, 17, 21, 15, 19, 23}));
  const Tensor gate_bias = source->find(kPrefix + "1.gate_proj.bias", {}).value();
  EXPECT_EQ(std::vector<float>(gate_bias.f32(), gate_bias.f32() + 2),
            (std::vector<float>{104, 106}));
  EXPECT_FALSE(source->find(kPrefix + "1.down_proj.weight", {}).has_value());
  for (const std::string& name : source->names()) {
    EXPECT_TRUE(stored.released.empty());
    source->release(name);
  }
  EXPECT_THAT(stored.released, testing::Contains(kPrefix + "gate_up_proj"));
}

TEST(StackedExperts, columns_of_gate_come_before_those_of_up) {
  auto memory = std::make_unique<Memory>();
  const Tensor both = memory->add("gate_up_proj", DType::kF32, {2, 3, 4});
  const Tensor down = memory->add("down_proj", DType::kF32, {2, 2, 3});
  for (int i = 0; i < 24; ++i) both.f32()[i] = static_cast<float>(i);
  for (int i = 0; i < 12; ++i) down.f32()[i] = static_cast<float>(i);
  const auto source = stacked_experts(std::move(memory), ExpertStacks::kColumns);
  const auto values = [&](const char* name) {
    const Tensor found = source->find(kPrefix + name, {}).value();
    return std::vector<float>(found.f32(), found.f32() + found.elements());
  };
  EXPECT_EQ(values("1.gate_proj.weight"), (std::vector<float>{12, 16, 20, 13, 17, 21}));
  EXPECT_EQ(values("1.up_proj.weight"), (std::vector<float>{14, 18, 22, 15, 19, 23}));
  EXPECT_EQ(values("1.down_proj.weight"), (std::vector<float>{6, 9, 7, 10, 8, 11}));
}

TEST(StackedExperts, the_shape_tells_columns_from_rows) {
  auto memory = std::make_unique<Memory>();
  const Tensor both = memory->add("gate_up_proj", DType::kF32, {2, 4, 3});
  const Tensor down = memory->add("down_proj", DType::kF32, {2, 3, 2});
  for (int i = 0; i < 24; ++i) both.f32()[i] = static_cast<float>(i);
  for (int i = 0; i < 12; ++i) down.f32()[i] = static_cast<float>(i);
  const auto source = stacked_experts(std::move(memory), ExpertStacks::kColumnsOrRows);
  const auto values = [&](const char* name, const Shape& expected) {
    const Tensor found = source->find(kPrefix + name, expected).value();
    EXPECT_EQ(found.shape(), expected) << name;
    return std::vector<float>(found.f32(), found.f32() + found.elements());
  };
  EXPECT_EQ(values("1.gate_proj.weight", {2, 3}), (std::vector<float>{12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(values("1.up_proj.weight", {2, 3}), (std::vector<float>{18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(values("1.down_proj.weight", {3, 2}), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  // The same bytes as columns.
  EXPECT_EQ(values("0.down_proj.weight", {2, 3}), (std::vector<float>{0, 2, 4, 1, 3, 5}));
}

TEST(StackedExperts, rows_stay_where_they_are) {
  auto memory = std::make_unique<Memory>();
  const Tensor both = memory->add("gate_up_proj", DType::kF32, {2, 4, 3});
  for (int i = 0; i < 24; ++i) both.f32()[i] = static_cast<float>(i);
  memory->add("down_proj", DType::kF32, {2, 3, 2});
  const auto source = stacked_experts(std::move(memory), ExpertStacks::kRows);
  EXPECT_THAT(
      source->names(),
      UnorderedElementsAre(kPrefix + "0.gate_up_proj.weight", kPrefix + "1.gate_up_proj.weight",
                           kPrefix + "0.down_proj.weight", kPrefix + "1.down_proj.weight"));
  const Tensor rows = source->find(kPrefix + "1.gate_up_proj.weight", {}).value();
  ASSERT_EQ(rows.shape(), (Shape{4, 3}));
  EXPECT_EQ(rows.f32(), both.f32() + 12);
  auto flat = std::make_unique<Memory>();
  flat->add("down_proj", DType::kF32, {2, 3});
  const auto wrong = stacked_experts(std::move(flat), ExpertStacks::kRows);
  EXPECT_THAT(error_of([&] { wrong->find(kPrefix + "0.down_proj.weight", {}); }),
              HasSubstr("three dimensions"));
}

TEST(StackedExperts, what_has_another_shape_is_refused) {
  const auto fault = [](auto add, const std::string& name) {
    auto memory = std::make_unique<Memory>();
    add(*memory);
    const auto source = stacked_experts(std::move(memory), ExpertStacks::kTurned);
    return error_of([&] {
      source->rows(kPrefix + name);
      source->find(kPrefix + name, {});
    });
  };
  EXPECT_THAT(
      fault([](Memory& m) { m.add("gate_up_proj", DType::kF32, {2, 3, 5}); }, "0.gate_proj.weight"),
      HasSubstr("matrices of experts have the wrong shape"));
  EXPECT_THAT(
      fault([](Memory& m) { m.add("down_proj", DType::kF32, {2, 3}); }, "0.down_proj.weight"),
      HasSubstr("three dimensions"));
  EXPECT_THAT(
      fault([](Memory& m) { m.add("down_proj", DType::kF32, {2, 3, 4}); }, "2.down_proj.weight"),
      HasSubstr("wrong shape"));
  EXPECT_THAT(
      fault([](Memory& m) { m.add("down_proj_bias", DType::kF32, {2, 3, 4}); }, "0.down_proj.bias"),
      HasSubstr("a row for each expert"));
  EXPECT_THAT(fault([](Memory& m) { m.add("down_proj_blocks", DType::kU8, {2, 3, 1, 15}); },
                    "0.down_proj.weight"),
              HasSubstr("groups, 16"));
  EXPECT_THAT(fault([](Memory& m) { m.add("down_proj_blocks", DType::kU8, {2, 3, 1, 16}); },
                    "0.down_proj.weight"),
              HasSubstr("a byte for each block"));
}

}  // namespace
}  // namespace foretoken
