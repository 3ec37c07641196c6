// What checkpoints may get wrong about matrices of codes. That they are read right, golden tests
// say.
#include "checkpoint/quantized/stored_codes.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "checkpoint/testing/test_files.h"
#include "checkpoint/testing/test_source.h"

namespace foretoken {
namespace {

using testing::HasSubstr;
using FormatKind = StoredFormat::Kind;

// A matrix "w" of 8 rows and 64 columns in groups of 32.
class Source final : public TensorSource {
 public:
  void put_gptq() {
    put<std::uint32_t>("w.qweight", DType::kI32, {8, 8}, 0x76543210U);
    put<std::uint32_t>("w.qzeros", DType::kI32, {2, 1}, 0x11111111U);
    put<float>("w.scales", DType::kF32, {2, 8}, 0.5F);
    put<std::int32_t>("w.g_idx", DType::kI32, {64}, 1);
  }
};

StoredFormat gptq_of_groups(std::int64_t group) {
  StoredFormat stored;
  stored.kind = FormatKind::kGptq;
  stored.group = group;
  stored.is_symmetric = false;
  stored.zeros_are_less_one = true;
  return stored;
}

std::optional<StoredCodes> take(const Source& source, const StoredQuantization& stored,
                                std::int64_t width = 64) {
  return StoredCodes::take(source, stored, "w", 8, width, [](const std::string&) {});
}
std::optional<StoredCodes> take(const Source& source, const StoredFormat& format,
                                std::int64_t width = 64) {
  return take(source, StoredQuantization{.usual = format}, width);
}
std::string fault_of(const Source& source, const StoredFormat& stored, std::int64_t width = 64) {
  return error_of([&] { take(source, stored, width); });
}

TEST(StoredCodes, words_are_taken_apart_low_bits_first) {
  Source source;
  source.put_gptq();
  for (std::int64_t i = 0; i < 64; ++i) source.set<std::int32_t>("w.g_idx", i, i / 32);
  const auto codes = take(source, gptq_of_groups(32));
  ASSERT_TRUE(codes && codes->is_coded());
  EXPECT_TRUE(codes->format().has_zero_points);
  std::vector<std::uint8_t> row(64), zeros(2);
  std::vector<float> scales(2);
  codes->read(3, row.data(), scales.data(), zeros.data());
  for (std::size_t k = 0; k < row.size(); ++k) EXPECT_EQ(row[k], k % 8);
  EXPECT_EQ(zeros, (std::vector<std::uint8_t>{2, 2}));
  EXPECT_EQ(static_cast<float*>(codes->floats().data())[7], 2.5F);
}

// Four to a word, in either packing.
TEST(StoredCodes, words_hold_codes_of_8_bits_too) {
  Source source;
  source.put<std::uint32_t>("w.qweight", DType::kI32, {16, 8}, 0xc1804002U);
  source.put<std::uint32_t>("w.qzeros", DType::kI32, {2, 2}, 0x80808080U);
  source.put<float>("w.scales", DType::kF32, {2, 8}, 0.5F);
  source.put<std::uint32_t>("w.weight_packed", DType::kI32, {8, 16}, 0xc1804002U);
  source.put<float>("w.weight_scale", DType::kF32, {8, 2}, 0.5F);
  for (const FormatKind kind : {FormatKind::kGptq, FormatKind::kPacked}) {
    StoredFormat stored;
    stored.kind = kind;
    stored.bits = 8;
    stored.group = 32;
    const auto codes = take(source, stored);
    ASSERT_TRUE(codes.has_value());
    const Buffer floats = codes->floats();
    const auto* values = static_cast<const float*>(floats.data());
    for (std::size_t i = 0; i < 8 * 64; i += 4)
      EXPECT_THAT(std::span(values + i, 4), testing::ElementsAre(-63.0F, -32.0F, 0.0F, 32.5F));
  }
}

TEST(StoredCodes, a_scale_may_be_that_of_all_rows) {
  const StoredFormat stored{.kind = FormatKind::kInt8, .bits = 8};
  for (const std::int64_t count : {1, 8}) {
    Source source;
    source.put<std::int8_t>("w.weight", DType::kI8, {8, 64}, std::int8_t{-3});
    source.put<float>("w.weight_scale", DType::kF32, {count, 1}, 0.5F);
    const auto codes = take(source, stored);
    ASSERT_TRUE(codes && codes->is_coded()) << count;
    std::vector<std::uint8_t> row(64);
    float scale = 0.0F;
    codes->read(7, row.data(), &scale, nullptr);
    EXPECT_EQ(row[63], 125) << count;
    EXPECT_EQ(scale, 0.5F) << count;
  }
}

TEST(StoredCodes, groups_of_unequal_width_are_floats) {
  Source source;
  source.put_gptq();
  const auto codes = take(source, gptq_of_groups(32));
  ASSERT_TRUE(codes.has_value());
  EXPECT_FALSE(codes->is_coded());
}

TEST(StoredCodes, columns_of_groups_in_another_order_are_sorted_by_group) {
  Source source;
  source.put_gptq();
  for (std::int64_t i = 0; i < 64; ++i) source.set<std::int32_t>("w.g_idx", i, 1 - i % 2);
  for (std::int64_t i = 8; i < 16; ++i) source.set("w.scales", i, 2.0F);
  const auto codes = take(source, gptq_of_groups(32));
  ASSERT_TRUE(codes && codes->is_coded());
  EXPECT_TRUE(codes->format().has_column_order);
  std::vector<std::uint8_t> row(64), zeros(2);
  std::vector<float> scales(2);
  codes->read(3, row.data(), scales.data(), zeros.data());
  EXPECT_EQ(scales, (std::vector<float>{0.5F, 2.0F}));
  for (std::int32_t i = 0; i < 64; ++i) {
    const std::int32_t column = i < 32 ? 2 * i + 1 : 2 * (i - 32);
    EXPECT_EQ(codes->column_order()[at(i)], column);
    EXPECT_EQ(row[at(i)], column % 8);
  }
  const Buffer floats = codes->floats();
  EXPECT_EQ(static_cast<const float*>(floats.data())[6], 8.0F);
  EXPECT_EQ(static_cast<const float*>(floats.data())[7], 2.5F);
}

// Of the last word of zero points less 1, the second was 0.
TEST(StoredCodes, zero_points_less_one_are_words_less_one_each) {
  Source source;
  source.put_gptq();
  source.put<std::uint32_t>("w.qzeros", DType::kI32, {2, 1}, 0x33333303U - 0x11111111U);
  const auto codes = take(source, gptq_of_groups(32));
  std::vector<std::uint8_t> row(64), zeros(2);
  std::vector<float> scales(2);
  for (std::int64_t i = 0; i < 8; ++i) {
    codes->read(i, row.data(), scales.data(), zeros.data());
    EXPECT_EQ(zeros[1], i == 1 ? 0 : 3) << i;
  }
}

TEST(StoredCodes, the_last_group_may_be_narrower) {
  Source source;
  source.put_gptq();
  source.put<std::uint32_t>("w.qweight", DType::kI32, {6, 8}, 0x76543210U);
  source.put<std::int32_t>("w.g_idx", DType::kI32, {48}, 0);
  for (std::int64_t i = 32; i < 48; ++i) source.set<std::int32_t>("w.g_idx", i, 1);
  for (std::int64_t i = 8; i < 16; ++i) source.set("w.scales", i, 2.0F);
  const auto codes = take(source, gptq_of_groups(32), 48);
  ASSERT_TRUE(codes && codes->is_coded());
  const Buffer floats = codes->floats();
  EXPECT_EQ(static_cast<const float*>(floats.data())[31], 2.5F);
  EXPECT_EQ(static_cast<const float*>(floats.data())[39], 10.0F);
}

TEST(StoredCodes, an_order_of_columns_is_read_whether_it_was_announced_or_not) {
  StoredFormat stored;
  stored.kind = FormatKind::kPacked;
  stored.group = 32;
  Source source;
  source.put<std::uint32_t>("w.weight_packed", DType::kI32, {8, 8}, 0x76543210U);
  source.put<float>("w.weight_scale", DType::kF32, {8, 2}, 0.5F);
  EXPECT_TRUE(take(source, stored)->is_coded());
  stored.has_g_idx = true;
  EXPECT_THAT(fault_of(source, stored),
              HasSubstr("missing weight (folder, tensor w.weight_g_idx)"));
  source.put<std::int32_t>("w.weight_g_idx", DType::kI32, {64}, 0);
  for (const bool is_announced : {true, false}) {
    stored.has_g_idx = is_announced;
    EXPECT_FALSE(take(source, stored)->is_coded());
  }
}

TEST(StoredCodes, floats_of_a_layer_left_out_are_not_its_business) {
  Source source;
  source.put_gptq();
  const StoredQuantization stored{.usual = gptq_of_groups(32), .ignore = {"w"}};
  EXPECT_FALSE(take(source, stored).has_value());
  source.drop("w.qweight");
  EXPECT_FALSE(take(source, gptq_of_groups(32)).has_value());
}

TEST(StoredCodes, a_matrix_may_have_a_format_of_its_own) {
  Source source;
  source.put_gptq();
  for (std::int64_t i = 0; i < 64; ++i) source.set<std::int32_t>("w.g_idx", i, i / 32);
  const StoredFormat packed{.kind = FormatKind::kPacked};
  const StoredQuantization stored{.usual = packed,
                                  .rules = {{"v", packed}, {"re:w$", gptq_of_groups(32)}}};
  const auto codes = take(source, stored);
  ASSERT_TRUE(codes && codes->is_coded());
  EXPECT_EQ(codes->format().group, 32);
  EXPECT_FALSE(take(source, packed).has_value());
}

TEST(StoredCodes, what_is_wrong_is_named) {
  const auto fault = [](const auto& spoil, std::int64_t group = 32, std::int64_t width = 64) {
    Source source;
    source.put_gptq();
    for (std::int64_t i = 0; i < 64; ++i) source.set<std::int32_t>("w.g_idx", i, i / 32);
    spoil(source);
    return fault_of(source, gptq_of_groups(group), width);
  };
  const auto nothing = [](Source&) {};
  EXPECT_EQ(fault(nothing), "");
  EXPECT_THAT(fault(nothing, 96), HasSubstr("wrong shape (folder, tensor w.qzeros)"));
  EXPECT_THAT(fault(nothing, 32, 32), HasSubstr("weight has the wrong shape"));
  EXPECT_THAT(fault([](Source& s) { s.drop("w.scales"); }),
              HasSubstr("missing weight (folder, tensor w.scales)"));
  EXPECT_THAT(fault([](Source& s) { s.drop("w.qzeros"); }), HasSubstr("w.qzeros"));
  EXPECT_THAT(fault([](Source& s) { s.put<float>("w.scales", DType::kF32, {8, 2}, 1.0F); }),
              HasSubstr("wrong shape (folder, tensor w.scales)"));
  EXPECT_THAT(fault([](Source& s) { s.put<std::int32_t>("w.scales", DType::kI32, {2, 8}, 1); }),
              HasSubstr("wrong dtype (folder, tensor w.scales)"));
  EXPECT_THAT(fault([](Source& s) { s.put<float>("w.qweight", DType::kF32, {8, 8}, 1.0F); }),
              HasSubstr("wrong dtype (folder, tensor w.qweight)"));
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e38F})
    EXPECT_THAT(fault([&](Source& s) { s.set("w.scales", 9, bad); }),
                HasSubstr("not a finite number (folder, tensor w.scales)"));
  for (const std::int32_t bad : {-1, 2})
    EXPECT_THAT(fault([&](Source& s) { s.set("w.g_idx", 5, bad); }),
                HasSubstr("belongs to no group (folder, tensor w.g_idx)"));
}

TEST(StoredCodes, eight_bit_floats_stay_codes_or_are_widened) {
  Source source;
  source.put<std::uint8_t>("w.weight", DType::kF8E4M3, {8, 64}, 0x38);  // 1
  source.put<float>("w.weight_scale_inv", DType::kF32, {2, 2}, 0.5F);
  source.set("w.weight_scale_inv", 3, 4.0F);
  source.set<std::uint8_t>("w.weight", 1, 0x7e);  // 448
  source.set<std::uint8_t>("w.weight", 2, 0x81);  // -2^-9
  StoredFormat stored;
  stored.kind = FormatKind::kFp8;
  stored.bits = 8;
  stored.block_rows = 4;
  stored.block_columns = 32;
  const auto codes = take(source, stored);
  ASSERT_TRUE(codes.has_value());
  EXPECT_EQ(codes->format(), (WeightFormat{.bits = 8, .group = 32, .is_float = true}));
  std::vector<std::uint8_t> row(64);
  std::vector<float> scales(2);
  codes->read(7, row.data(), scales.data(), nullptr);
  EXPECT_EQ(row[63], 0x38);
  EXPECT_EQ(scales, (std::vector<float>{0.5F, 4.0F}));
  const Buffer floats = codes->floats();
  const auto* values = static_cast<const float*>(floats.data());
  EXPECT_EQ(values[0], 0.5F);
  EXPECT_EQ(values[1], 224.0F);
  EXPECT_EQ(values[2], -0x1p-10F);
  EXPECT_EQ(values[7 * 64 + 63], 4.0F);
  source.put<float>("w.weight_scale_inv", DType::kF32, {1, 2}, 0.5F);
  EXPECT_THAT(fault_of(source, stored), HasSubstr("wrong shape"));
}

TEST(StoredCodes, eight_bit_floats_that_no_product_takes_are_floats) {
  const auto is_coded = [](DType type, std::uint8_t odd_one, std::int64_t columns) {
    Source source;
    source.put<std::uint8_t>("w.weight", type, {8, 64}, 0x38);
    source.set<std::uint8_t>("w.weight", 100, odd_one);
    source.put<float>("w.weight_scale", DType::kF32, {8, ceil_div(std::int64_t{64}, columns)}, 1);
    StoredFormat stored;
    stored.kind = FormatKind::kFp8;
    stored.bits = 8;
    stored.block_rows = 1;
    stored.block_columns = columns;
    return take(source, stored)->is_coded();
  };
  EXPECT_TRUE(is_coded(DType::kF8E4M3, 0x7e, 64));
  EXPECT_TRUE(is_coded(DType::kF8E4M3, 0x7e, 32));
  EXPECT_FALSE(is_coded(DType::kF8E5M2, 0x38, 32));
  EXPECT_FALSE(is_coded(DType::kF8E4M3, 0x7f, 32));  // not a number
  EXPECT_FALSE(is_coded(DType::kF8E4M3, 0xff, 32));
  EXPECT_FALSE(is_coded(DType::kF8E4M3, 0x38, 48));
}

TEST(StoredCodes, codes_of_8_bits_have_a_scale_a_row_or_one) {
  Source source;
  source.put<std::int8_t>("w.weight", DType::kI8, {8, 64}, -3);
  StoredFormat stored;
  stored.kind = FormatKind::kInt8;
  stored.bits = 8;
  stored.rounds_input = true;
  for (const Shape& one : {Shape{}, Shape{1}, Shape{1, 1}, Shape{8}, Shape{8, 1}}) {
    source.put<float>("w.weight_scale", DType::kF32, one, 0.5F);
    const auto codes = take(source, stored);
    ASSERT_TRUE(codes && codes->is_coded() && codes->format().rounds_input);
    EXPECT_EQ(static_cast<float*>(codes->floats().data())[9], -1.5F);
  }
  source.put<float>("w.weight_scale", DType::kF32, {7}, 0.5F);
  EXPECT_THAT(fault_of(source, stored), HasSubstr("wrong shape (folder, tensor w.weight_scale)"));
}

}  // namespace
}  // namespace foretoken
