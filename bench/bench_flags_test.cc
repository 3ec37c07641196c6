#include "bench/bench_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Read>
std::string usage_error(Read read, const std::vector<std::string>& args) {
  try {
    read(args);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(BenchFlags, steps_have_defaults_and_lists) {
  const StepOptions usual = read_step_options({});
  EXPECT_EQ(usual.shape, "llama-3.2-1b");
  EXPECT_EQ(usual.context, 128);
  EXPECT_THAT(usual.nodes, ElementsAre(1, 2, 4, 8, 16, 32, 64));
  EXPECT_TRUE(usual.sequences.empty());
  const std::vector<std::string> args = {"--shape",     "demo",       "--nodes",   "1",
                                         "16",          "--rounds=3", "--prefill", "512",
                                         "--sequences", "4",          "16"};
  const StepOptions options = read_step_options(args);
  EXPECT_EQ(options.shape, "demo");
  EXPECT_EQ(options.rounds, 3);
  EXPECT_THAT(options.nodes, ElementsAre(1, 16));
  EXPECT_THAT(options.prefill, ElementsAre(512));
  EXPECT_THAT(options.sequences, ElementsAre(4, 16));
  EXPECT_FALSE(usual.quantization.is_on());
  const std::vector<std::string> fewer = {"--quantization", "w4a8-g64"};
  EXPECT_EQ(read_step_options(fewer).quantization.layers.group, 64);
  EXPECT_FALSE(usual.kv_dtype);
  const std::vector<std::string> codes = {"--kv-cache-dtype", "int8"};
  EXPECT_EQ(read_step_options(codes).kv_dtype, DType::kI8);
}

TEST(BenchFlags, methods_are_listed_and_may_begin_their_flags_with_dashes) {
  const AcceptOptions usual = read_accept_options({});
  EXPECT_THAT(usual.budgets, ElementsAre("full", "auto"));
  EXPECT_EQ(usual.repeats, 3);
  const std::vector<std::string> args = {
      "--model", "folder",         "--method", "a=--x 1",   "b=--y",   "--at-once",          "4",
      "16",      "--draft-budget", "auto",     "--verbose", "--flags", "--load-format dummy"};
  const AcceptOptions options = read_accept_options(args);
  EXPECT_THAT(options.methods, ElementsAre("a=--x 1", "b=--y"));
  EXPECT_THAT(options.budgets, ElementsAre("auto"));
  EXPECT_THAT(options.at_once, ElementsAre(4, 16));
  EXPECT_THAT(usual.at_once, ElementsAre(1));
  EXPECT_EQ(options.flags, "--load-format dummy");
  EXPECT_TRUE(options.is_verbose);
}

TEST(BenchFlags, methods_may_be_given_one_by_one) {
  const std::vector<std::string> args = {"--model",  "folder", "--method", "a=--x 1",
                                         "--method", "b=--y",  "c=--z",    "--method=d=--w"};
  EXPECT_THAT(read_accept_options(args).methods, ElementsAre("a=--x 1", "b=--y", "c=--z", "d=--w"));
  const std::vector<std::string> others = {"--draft-budget", "full", "--draft-budget", "auto"};
  EXPECT_THAT(read_accept_options(others).budgets, ElementsAre("auto"));
}

TEST(BenchFlags, couplings_are_compared_above_temperature_0) {
  EXPECT_THAT(read_accept_options({}).couplings, ElementsAre());
  const std::vector<std::string> warm = {"--temperature", "0.7"};
  EXPECT_EQ(read_accept_options(warm).answers.temperature, 0.7F);
  EXPECT_THAT(read_accept_options(warm).couplings, ElementsAre("never", "always", "auto"));
  const std::vector<std::string> chosen = {"--temperature", "1", "--draft-coupling", "auto"};
  EXPECT_THAT(read_accept_options(chosen).couplings, ElementsAre("auto"));
}

TEST(BenchFlags, what_cannot_be_meant_is_named) {
  EXPECT_THAT(usage_error(read_step_options, {"--rounds", "0"}),
              HasSubstr("--rounds: expected at"));
  EXPECT_THAT(usage_error(read_step_options, {"--nodes", "4", "0"}), HasSubstr("--nodes"));
  EXPECT_THAT(usage_error(read_step_options, {"--quantization", "awq"}), HasSubstr("w8a8_int8"));
  EXPECT_THAT(usage_error(read_step_options, {"--nodes", "1,4"}), HasSubstr("an integer"));
  EXPECT_THAT(usage_error(read_step_options, {"--shape", "gpt-9"}), HasSubstr("llama-3.2-1b"));
  EXPECT_THAT(usage_error(read_accept_options, {"--method", "a=--x"}), HasSubstr("--model"));
  EXPECT_THAT(usage_error(read_accept_options, {"--draft-budget", "half"}), HasSubstr("full"));
  EXPECT_THAT(usage_error(read_accept_options, {"--turns", "0"}), HasSubstr("at least 1"));
  EXPECT_THAT(usage_error(read_accept_options, {"--predict", "--at-once", "2"}),
              HasSubstr("--at-once 1"));
  EXPECT_THAT(usage_error(read_accept_options, {"--temperature", "-1"}), HasSubstr("0 to 100"));
  EXPECT_FALSE(read_accept_options({}).own_plain);
  EXPECT_TRUE(read_accept_options(std::vector<std::string>{"--own-plain"}).own_plain);
  EXPECT_THAT(usage_error(read_accept_options, {"--draft-coupling", "yes"}), HasSubstr("never"));
}

}  // namespace
}  // namespace foretoken
