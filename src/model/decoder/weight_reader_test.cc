// What is kept of checkpoints that are quantized already, and what may lie beside their matrices.
#include "model/decoder/weight_reader.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "checkpoint/testing/test_files.h"
#include "checkpoint/testing/test_source.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

// A matrix "w" of 32 rows and 64 columns: codes of 8 bits, one scale for all. A row begins with
// -128, which nobody who makes codes here would choose.
class WeightReaderTest : public testing::Test {
 protected:
  WeightReaderTest() {
    source_.put<std::int8_t>("w.weight", DType::kI8, {32, 64}, 3);
    for (std::int64_t row = 0; row < 32; ++row)
      source_.set<std::int8_t>("w.weight", row * 64, -128);
    source_.put<float>("w.weight_scale", DType::kF32, {1}, 0.5F);
    stored_.usual =
        StoredFormat{.kind = StoredFormat::Kind::kInt8, .bits = 8, .rounds_input = true};
  }

  // All bytes of the packed matrix.
  std::string packed(const std::string& quantization) {
    WeightReader read(*ops_, source_, DType::kBF16, quantization_named(quantization, false, "test"),
                      stored_);
    const auto matrix = read.linear({{"w", 32}}, 64, Bias::kNone);
    std::string bytes;
    for (const auto image : matrix->images())
      bytes.append(reinterpret_cast<const char*>(image.data()), image.size());
    return bytes;
  }
  std::string fault_of_finish() {
    return error_of([&] {
      WeightReader read(*ops_, source_, DType::kBF16, {}, stored_);
      read.linear({{"w", 32}}, 64, Bias::kNone);
      read.skip("head.weight");
      read.finish();
    });
  }

  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "cpu"}, pool_);
  TensorSource source_;
  StoredQuantization stored_;
};

TEST_F(WeightReaderTest, codes_stay_where_nothing_or_as_many_bits_are_asked_for) {
  const std::string rounding = packed("unquant");
  EXPECT_EQ(packed("w8a8_int8"), rounding);
  stored_.usual->rounds_input = false;
  const std::string keeping = packed("unquant");
  EXPECT_EQ(packed("w8a8_int8"), rounding);
  EXPECT_EQ(packed("w8a16"), keeping);
  stored_.usual->rounds_input = true;
  EXPECT_EQ(packed("w8a16"), keeping);
  for (const char* other : {"w4a8", "fp8"}) {
    EXPECT_NE(packed(other), rounding) << other;
    EXPECT_NE(packed(other), keeping) << other;
  }
}

// Groups of 64 stay so whatever groups the name has.
TEST_F(WeightReaderTest, codes_of_4_bits_keep_their_groups) {
  stored_ = {.usual = StoredFormat{.kind = StoredFormat::Kind::kPacked, .group = 64}};
  source_.drop("w.weight");
  source_.put<std::uint32_t>("w.weight_packed", DType::kI32, {32, 8}, 0x76543210U);
  source_.put<float>("w.weight_scale", DType::kF32, {32, 1}, 0.5F);
  const std::string keeping = packed("unquant"), rounding = packed("w4a8-g64");
  for (const char* name : {"int4", "int4-g128"}) EXPECT_EQ(packed(name), keeping) << name;
  for (const char* name : {"w4a8", "w4a8-g128"}) EXPECT_EQ(packed(name), rounding) << name;
  EXPECT_NE(packed("w8a16"), keeping);
}

TEST_F(WeightReaderTest, an_output_matrix_is_of_the_kind_that_was_named_for_it) {
  source_.put<float>("head.weight", DType::kF32, {64, 64}, 0.25F);
  const auto bytes = [&](const char* layers, const char* head, MatrixRole role) {
    WeightReader read(*ops_, source_, DType::kBF16,
                      with_head(quantization_named(layers, false, "test"), head, false, "test"),
                      stored_);
    return read.linear({{"head", 64}}, 64, Bias::kNone, role)->bytes();
  };
  const std::size_t of_bf16 = 64 * 64 * 2;
  // What the checkpoint is already leaves the output matrix alone, a kind of its own does not.
  for (const char* layers : {"unquant", "w8a8_int8"}) {
    EXPECT_EQ(bytes(layers, "", MatrixRole::kHead), of_bf16);
    EXPECT_LT(bytes(layers, "int4", MatrixRole::kHead), of_bf16 / 2);
    EXPECT_EQ(bytes(layers, "int4", MatrixRole::kLayer), of_bf16);
  }
  EXPECT_EQ(bytes("int4", "unquant", MatrixRole::kHead), of_bf16);
}

TEST_F(WeightReaderTest, stacked_matrices_share_an_order_of_columns_or_are_floats) {
  stored_ = {.usual = StoredFormat{.kind = StoredFormat::Kind::kPacked, .group = 32}};
  for (const std::string name : {"a", "b"}) {
    source_.put<std::uint32_t>(name + ".weight_packed", DType::kI32, {32, 8}, 0x76543210U);
    source_.put<float>(name + ".weight_scale", DType::kF32, {32, 2}, 0.5F);
    source_.put<std::int32_t>(name + ".weight_g_idx", DType::kI32, {64}, 0);
    for (std::int64_t i = 0; i < 64; i += 2)
      source_.set<std::int32_t>(name + ".weight_g_idx", i, 1);
  }
  const auto bytes = [&] {
    WeightReader read(*ops_, source_, DType::kBF16, {}, stored_);
    return read.linear({{"a", 32}, {"b", 32}}, 64, Bias::kNone)->bytes();
  };
  const std::size_t of_bf16 = 64 * 64 * 2;
  EXPECT_LT(bytes(), of_bf16);
  source_.set<std::int32_t>("b.weight_g_idx", 0, 0);
  source_.set<std::int32_t>("b.weight_g_idx", 1, 1);
  EXPECT_EQ(bytes(), of_bf16);
}

TEST_F(WeightReaderTest, a_tensor_beside_a_matrix_that_would_change_it_is_refused) {
  EXPECT_EQ(fault_of_finish(), "");
  source_.put<std::int32_t>("w.weight_g_idx", DType::kI32, {64}, 1);
  EXPECT_THAT(fault_of_finish(), HasSubstr("left unread (folder, tensor w.weight_g_idx)"));
  source_.drop("w.weight_g_idx");
  source_.put<float>("w.bias", DType::kF32, {32}, 1.0F);
  EXPECT_THAT(fault_of_finish(), HasSubstr("tensor w.bias"));
  source_.drop("w.bias");
  // A head of its own where the embedding was to serve.
  source_.put<std::uint32_t>("head.qweight", DType::kI32, {8, 8}, 7);
  EXPECT_THAT(fault_of_finish(), HasSubstr("tensor head.qweight"));
}

TEST_F(WeightReaderTest, tensors_that_change_nothing_are_left_alone) {
  source_.put<float>("w.bias", DType::kF32, {32}, 0.0F);
  source_.put<std::int8_t>("w.weight_zero_point", DType::kI8, {32, 1}, 0);
  source_.put<float>("w.input_scale", DType::kF32, {1}, 0.1F);
  source_.put<float>("w.k_scale", DType::kF32, {1}, 0.1F);
  source_.put<float>("elsewhere.bias", DType::kF32, {32}, 1.0F);
  EXPECT_EQ(fault_of_finish(), "");
}

}  // namespace
}  // namespace foretoken
