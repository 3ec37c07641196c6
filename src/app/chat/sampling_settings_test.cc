#include "app/chat/sampling_settings.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace foretoken::sampling_settings_test {
namespace {

std::string body_of(const SamplingSettings& settings) {
  boost::json::object body;
  settings.write(body);
  return boost::json::serialize(body);
}

std::string refused(std::string_view assignment) {
  SamplingSettings settings;
  const auto refusal = settings.set(assignment);
  EXPECT_TRUE(refusal) << assignment;
  EXPECT_EQ(body_of(settings), "{}");
  return refusal ? refusal->message : "";
}

TEST(SamplingSettings, WhatIsSetIsInTheRequest) {
  SamplingSettings settings;
  EXPECT_EQ(body_of(settings), "{}");
  EXPECT_FALSE(settings.set("temperature 0.5"));
  EXPECT_FALSE(settings.set("top_k=40"));
  EXPECT_FALSE(settings.set("seed = -3"));
  EXPECT_FALSE(settings.set("stop two words"));
  EXPECT_EQ(body_of(settings), R"({"seed":-3,"stop":"two words","temperature":5E-1,"top_k":40})");
  EXPECT_FALSE(settings.set("temperature 1"));
  EXPECT_FALSE(settings.set("seed default"));
  EXPECT_EQ(body_of(settings), R"({"stop":"two words","temperature":1E0,"top_k":40})");
}

TEST(SamplingSettings, WhatCannotBeIsRefused) {
  EXPECT_EQ(refused("temperature -1"), "temperature: expected a number of at least 0, found '-1'");
  EXPECT_EQ(refused("temperature warm"),
            "temperature: expected a number of at least 0, found 'warm'");
  for (const char* odd :
       {"temperature nan", "temperature inf", "temperature 1e999", "temperature 0.5x", "top_p 1.5",
        "max_tokens 0", "max_tokens 1.5", "seed 99999999999999999999", "top_k -2"})
    EXPECT_NE(refused(odd).find("expected"), std::string::npos) << odd;
  EXPECT_EQ(refused("seed x"), "seed: expected an integer, found 'x'");
  EXPECT_EQ(refused("top_p"), "top_p: expected a value, or default, found nothing");
  EXPECT_NE(refused("warmth 1").find("'warmth' cannot be set: there are temperature, top_p"),
            std::string::npos);
}

TEST(SamplingSettings, ItSaysWhatIsSet) {
  SamplingSettings settings;
  settings.set("max_tokens 12");
  settings.set("top_p 0.5");
  EXPECT_NE(settings.described().find("top_p               0.5 "), std::string::npos);
  EXPECT_NE(settings.described().find("max_tokens          12 "), std::string::npos);
  EXPECT_NE(settings.described().find("temperature         default"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::sampling_settings_test
