#include "model/config/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(QuantizationNames, are_those_that_can_be_asked_for) {
  for (const std::string_view name : quantization_names())
    EXPECT_EQ(error_of([&] { quantization_named(name, false, "test"); }), "") << name;
  for (const char* made : {"unquant", "w8a8_int8", "fp8", "int4", "w4a8-g128"}) {
    EXPECT_THAT(made_quantizations(), Contains(made));
    EXPECT_THAT(quantization_names(), Contains(made));
  }
  for (const char* stored : {"gguf", "awq", "gptq_marlin", "modelopt"}) {
    EXPECT_THAT(made_quantizations(), Not(Contains(stored)));
    EXPECT_THAT(quantization_names(), Contains(stored));
  }
}

TEST(QuantizationNames, an_unknown_one_is_refused_with_all_others) {
  const std::string fault = error_of([] { quantization_named("int5", false, "--flag"); });
  for (const std::string_view name : quantization_names())
    EXPECT_THAT(fault, HasSubstr(std::string(name)));
  EXPECT_THAT(fault, HasSubstr("int5"));
}

}  // namespace
}  // namespace foretoken
