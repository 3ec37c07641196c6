#include "tensor/tensor.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/dtype_names.h"

namespace foretoken {
namespace {

TEST(Shape, counts_elements_and_prints_itself) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({}).elements(), 1);
  EXPECT_EQ(Shape({7, 0}).elements(), 0);
  EXPECT_EQ(Shape({2, 3}).str(), "[2, 3]");
  EXPECT_EQ(Shape({}).str(), "[]");
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_FALSE(Shape({2, 3}) == Shape({2, 3, 1}));
  const std::vector<std::int64_t> most(Shape::kMaxRank, 2);
  EXPECT_EQ(Shape(most).rank(), Shape::kMaxRank);
  EXPECT_EQ(Shape(most).elements(), std::int64_t{1} << Shape::kMaxRank);
}

TEST(ShapeDeath, more_dimensions_than_there_is_room_for_are_a_bug) {
  const std::vector<std::int64_t> more(Shape::kMaxRank + 1, 2);
  EXPECT_DEATH(Shape{more}, "rank " + std::to_string(more.size()));
}

TEST(DTypeNames, float_types_have_the_names_of_users_and_of_configurations) {
  const std::vector<std::pair<DType, std::vector<std::string>>> all{
      {DType::kBF16, {"bfloat16", "bf16"}},
      {DType::kF16, {"float16", "half", "fp16"}},
      {DType::kF32, {"float32", "float", "fp32"}}};
  for (const auto& [dtype, names] : all)
    for (const std::string& name : names) {
      EXPECT_EQ(float_dtype_named(name), dtype) << name;
      EXPECT_EQ(float_dtype_named("torch." + name), dtype) << name;
    }
  for (const char* name : {"", "torch.", "int8", "float64", "torch.torch.half", "Half"})
    EXPECT_EQ(float_dtype_named(name), std::nullopt) << name;
}

TEST(Tensor, rows_is_a_view_of_the_same_memory) {
  float data[12] = {};
  const Tensor x(data, DType::kF32, {4, 3});
  const Tensor middle = x.rows(1, 2);
  EXPECT_EQ(middle.shape(), Shape({2, 3}));
  EXPECT_EQ(middle.f32(), data + 3);
  EXPECT_EQ(middle.row_f32(1), data + 6);
  EXPECT_EQ(x.rows(4, 0).elements(), 0);
}

TEST(TensorDeath, rows_outside_the_tensor_are_a_bug) {
  float data[12] = {};
  const Tensor x(data, DType::kF32, {4, 3});
  EXPECT_DEATH(x.rows(3, 2), "rows 3 \\+ 2 of \\[4, 3\\]");
  EXPECT_DEATH(x.rows(-1, 2), "rows -1");
}

TEST(Tensor, expect_accepts_the_named_shape_and_wildcards) {
  float data[6] = {};
  const Tensor x(data, DType::kF32, {2, 3});
  expect(x, {2, 3}, DType::kF32);
  expect(x, {-1, 3}, DType::kF32);
}

TEST(TensorDeath, expect_names_both_shapes_and_dtypes) {
  float data[6] = {};
  const Tensor x(data, DType::kF32, {2, 3});
  EXPECT_DEATH(expect(x, {2, 4}, DType::kF32),
               "expected float32 \\[2, 4\\], got float32 \\[2, 3\\]");
  EXPECT_DEATH(expect(x, {3, 3}, DType::kF32), "expected float32 \\[3, 3\\]");
  EXPECT_DEATH(expect(x, {2, 3}, DType::kBF16), "expected bfloat16");
  EXPECT_DEATH(expect(x, {2}, DType::kF32), "expected float32 \\[2\\]");
}

TEST(Tensor, every_dtype_has_a_size_and_a_name) {
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2U);
  EXPECT_EQ(dtype_bytes(DType::kI64), 8U);
  EXPECT_EQ(dtype_name(DType::kF16), "float16");
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    EXPECT_TRUE(dtype_is_float(dtype)) << dtype_name(dtype);
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8,
                            DType::kBool, DType::kF8E4M3, DType::kF8E5M2})
    EXPECT_FALSE(dtype_is_float(dtype)) << dtype_name(dtype);
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    EXPECT_GT(dtype_bytes(static_cast<DType>(i)), 0U);
    EXPECT_FALSE(dtype_name(static_cast<DType>(i)).empty());
  }
}

}  // namespace
}  // namespace foretoken
