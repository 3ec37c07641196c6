#include "kv/kv_dtype.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

TEST(KvDtype, each_name_means_a_type_and_auto_that_of_the_weights) {
  EXPECT_EQ(kv_dtype_names(), (std::vector<std::string_view>{"auto", "bf16", "bfloat16", "fp8_e5m2",
                                                             "fp8_e4m3", "int8"}));
  EXPECT_EQ(kv_dtype_named("auto", "f"), std::nullopt);
  EXPECT_EQ(kv_dtype_named("bf16", "f"), DType::kBF16);
  EXPECT_EQ(kv_dtype_named("bfloat16", "f"), DType::kBF16);
  EXPECT_EQ(kv_dtype_named("fp8_e5m2", "f"), DType::kF8E5M2);
  EXPECT_EQ(kv_dtype_named("fp8_e4m3", "f"), DType::kF8E4M3);
  EXPECT_EQ(kv_dtype_named("int8", "f"), DType::kI8);
}

TEST(KvDtype, the_log_names_codes_as_users_do) {
  for (const char* name : {"fp8_e5m2", "fp8_e4m3"})
    EXPECT_EQ(kv_dtype_name(*kv_dtype_named(name, "f")), name);
  EXPECT_EQ(kv_dtype_name(DType::kI8), dtype_name(DType::kI8));
  EXPECT_EQ(kv_dtype_name(DType::kBF16), dtype_name(DType::kBF16));
}

TEST(KvDtype, another_name_is_refused_with_those_that_there_are) {
  for (const std::string name : {"", "fp4_e2m1", "float32"}) try {
      kv_dtype_named(name, "--kv-cache-dtype");
      ADD_FAILURE() << "no error for '" << name << "'";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("--kv-cache-dtype"), std::string::npos) << text;
      EXPECT_NE(text.find("auto, bf16, bfloat16, fp8_e5m2, fp8_e4m3, int8"), std::string::npos);
    }
}

}  // namespace
}  // namespace foretoken
