#include "model/config/context_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;
using testing::HasSubstr;

ModelConfig scaled(Kind kind, std::optional<std::int64_t> original = {}) {
  ModelConfig config;
  config.max_position = 4096;
  config.rope.kind = kind;
  config.rope.factor = 4.0;
  config.rope.original_max_position = original;
  return config;
}

TEST(ContextLength, millions_of_positions_are_served_when_asked_for) {
  ModelConfig config = scaled(Kind::kNone);
  config.max_position = 10485760;
  EXPECT_EQ(choose_context_length(config, {}, LongerContext::kRefuse), 1048576);
  EXPECT_EQ(choose_context_length(config, 10485760, LongerContext::kRefuse), 10485760);
}

TEST(ContextLength, defaults_are_those_of_sglang_save_for_dynamic_scaling) {
  EXPECT_EQ(default_context_length(scaled(Kind::kNone)), 4096);
  EXPECT_EQ(default_context_length(scaled(Kind::kLlama3, 1024)), 4096);
  EXPECT_EQ(default_context_length(scaled(Kind::kLongRope, 1024)), 4096);
  EXPECT_EQ(default_context_length(scaled(Kind::kLinear)), 16384);
  EXPECT_EQ(default_context_length(scaled(Kind::kYarn)), 16384);
  EXPECT_EQ(default_context_length(scaled(Kind::kYarn, 1024)), 4096);
  EXPECT_EQ(default_context_length(scaled(Kind::kDynamic)), 4096);
}

TEST(ContextLength, scaling_lets_more_be_asked_for) {
  EXPECT_EQ(choose_context_length(scaled(Kind::kDynamic), 16384, LongerContext::kRefuse), 16384);
  EXPECT_EQ(choose_context_length(scaled(Kind::kYarn, 4096), 16384, LongerContext::kRefuse), 16384);
  EXPECT_EQ(choose_context_length(scaled(Kind::kNone), 100, LongerContext::kRefuse), 100);
  EXPECT_EQ(choose_context_length(scaled(Kind::kNone), {}, LongerContext::kRefuse), 4096);
}

TEST(ContextLength, beyond_the_trained_length_is_refused_or_warned_about) {
  EXPECT_THAT(
      error_of([] { choose_context_length(scaled(Kind::kNone), 5000, LongerContext::kRefuse); }),
      testing::AllOf(HasSubstr("context_length (5000) is greater than the derived "
                               "context_length (4096)"),
                     HasSubstr("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1")));
  EXPECT_EQ(choose_context_length(scaled(Kind::kNone), 5000, LongerContext::kWarn), 5000);
  EXPECT_EQ(choose_context_length(scaled(Kind::kNone), 5000, LongerContext::kDraft), 5000);
  EXPECT_NE(error_of([] {
              choose_context_length(scaled(Kind::kDynamic), 16385, LongerContext::kRefuse);
            }),
            "");
  EXPECT_THAT(
      error_of([] { choose_context_length(scaled(Kind::kNone), 0, LongerContext::kRefuse); }),
      HasSubstr("at least 1"));
}

}  // namespace
}  // namespace foretoken
