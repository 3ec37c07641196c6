#include "app/options/tune_options.h"

#include <gtest/gtest.h>

namespace foretoken::tune_options_test {
namespace {

TuneOptions resolve(const std::vector<std::string>& args) {
  return resolve_tune_options(parse_flags(args, tune_flags()));
}

std::string usage_error(const std::vector<std::string>& args) {
  try {
    resolve(args);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TuneOptions, the_defaults) {
  const TuneOptions options = resolve({});
  EXPECT_EQ(options.prompts, "");
  EXPECT_EQ(options.batch_sizes, (std::vector<int>{1, 8, 32}));
  EXPECT_EQ(options.out, "foretoken-tune");
  EXPECT_FALSE(options.record_only);
  EXPECT_EQ(options.replay, "");
  EXPECT_EQ(options.costs, "");
  EXPECT_EQ(options.validate, 0);
  EXPECT_EQ(options.rounds, 9);
  EXPECT_EQ(options.max_new_tokens, 128);
  EXPECT_EQ(options.limit, 0);
  EXPECT_EQ(options.turns, 1);
  EXPECT_EQ(options.temperature, 0);
  EXPECT_EQ(options.record_steps, 8);
  EXPECT_EQ(options.record_topk, 8);
  EXPECT_EQ(options.measure_seconds, 8);
}

TEST(TuneOptions, every_flag_reaches_its_option) {
  EXPECT_EQ(resolve({"--prompts", "a.jsonl"}).prompts, "a.jsonl");
  EXPECT_EQ(resolve({"--batch-sizes", "16,2,2,4"}).batch_sizes, (std::vector<int>{2, 4, 16}));
  EXPECT_EQ(resolve({"--batch-sizes=4"}).batch_sizes, std::vector<int>{4});
  EXPECT_EQ(resolve({"--out", "d"}).out, "d");
  EXPECT_TRUE(resolve({"--record-only"}).record_only);
  EXPECT_EQ(resolve({"--replay", "r"}).replay, "r");
  EXPECT_EQ(resolve({"--costs", "c"}).costs, "c");
  EXPECT_EQ(resolve({"--validate", "12"}).validate, 12);
  EXPECT_EQ(resolve({"--rounds", "25"}).rounds, 25);
  EXPECT_EQ(resolve({"--max-new-tokens", "9"}).max_new_tokens, 9);
  EXPECT_EQ(resolve({"--limit", "3"}).limit, 3);
  EXPECT_EQ(resolve({"--turns", "2"}).turns, 2);
  EXPECT_EQ(resolve({"--temperature", "0.5"}).temperature, 0.5F);
  EXPECT_EQ(resolve({"--record-steps", "3"}).record_steps, 3);
  EXPECT_EQ(resolve({"--record-topk", "4"}).record_topk, 4);
  EXPECT_EQ(resolve({"--measure-seconds", "1.5"}).measure_seconds, 1.5);
}

TEST(TuneOptions, numbers_are_taken_up_to_both_ends_of_their_range) {
  struct Range {
    std::string flag;
    int least, most;
  };
  for (const auto& [flag, least, most] : std::vector<Range>{{"--validate", 0, 1000},
                                                            {"--rounds", 3, 1000},
                                                            {"--max-new-tokens", 2, 1 << 20},
                                                            {"--limit", 1, 1 << 30},
                                                            {"--turns", 1, 1000},
                                                            {"--record-steps", 1, 32},
                                                            {"--record-topk", 1, 16},
                                                            {"--batch-sizes", 1, 4096}}) {
    for (const int value : {least, most})
      EXPECT_EQ(usage_error({flag, std::to_string(value)}), "no error") << flag << ' ' << value;
    for (const int value : {least - 1, most + 1})
      EXPECT_TRUE(usage_error({flag, std::to_string(value)}).starts_with(flag + ": expected "))
          << flag << ' ' << value;
  }
}

TEST(TuneOptions, the_flags_of_models_and_drafters_are_there) {
  const auto values =
      parse_flags(std::vector<std::string>{"--model", "m", "--speculative-algorithm", "EAGLE3",
                                           "--threads", "2"},
                  tune_flags());
  EXPECT_EQ(values.text("--model-path"), "m");
  EXPECT_EQ(values.text("--speculative-algorithm"), "EAGLE3");
  EXPECT_EQ(values.integer("--threads"), 2);
}

TEST(TuneOptions, values_are_checked) {
  for (const char* sizes : {"", "0", "1,", ",1", "a", "-3", "99999", "1;2", "4.5"})
    EXPECT_EQ(usage_error({std::string("--batch-sizes=") + sizes}),
              std::string("--batch-sizes: expected numbers from 1 to 4096, separated by commas, "
                          "found '") +
                  sizes + "'");
  EXPECT_EQ(usage_error({"--out="}), "--out: expected a folder, found ''");
  EXPECT_EQ(usage_error({"--validate", "-1"}), "--validate: expected 0 to 1000, found -1");
  EXPECT_EQ(usage_error({"--rounds", "2"}), "--rounds: expected 3 to 1000, found 2");
  EXPECT_EQ(usage_error({"--max-new-tokens", "1"}),
            "--max-new-tokens: expected 2 to 1048576, found 1");
  EXPECT_EQ(usage_error({"--limit", "0"}), "--limit: expected 1 to 1073741824, found 0");
  EXPECT_EQ(usage_error({"--turns", "0"}), "--turns: expected 1 to 1000, found 0");
  EXPECT_EQ(usage_error({"--temperature", "-1"}), "--temperature: expected 0 to 100, found -1");
  EXPECT_EQ(usage_error({"--record-steps", "33"}), "--record-steps: expected 1 to 32, found 33");
  EXPECT_EQ(usage_error({"--record-topk", "17"}), "--record-topk: expected 1 to 16, found 17");
  EXPECT_EQ(usage_error({"--measure-seconds", "0"}),
            "--measure-seconds: expected 0.1 to 3600, found 0");
}

TEST(TuneOptions, what_has_no_use_together_is_refused) {
  EXPECT_EQ(usage_error({"--record-only", "--replay", "r"}),
            "--replay has no use with --record-only");
  EXPECT_EQ(usage_error({"--record-only", "--costs", "c"}),
            "--costs has no use with --record-only");
  EXPECT_EQ(usage_error({"--record-only", "--validate", "3"}),
            "--validate has no use with --record-only");
  EXPECT_EQ(usage_error({"--record-only", "--rounds", "3"}),
            "--rounds has no use with --record-only");
  for (const std::string flag :
       {"--prompts", "--limit", "--turns", "--temperature", "--max-new-tokens", "--record-steps",
        "--record-topk", "--measure-seconds"})
    EXPECT_EQ(usage_error({"--replay", "r", flag, "2"}), flag + " has no use with --replay");
  EXPECT_EQ(usage_error({"--costs", "c", "--measure-seconds", "2"}),
            "--measure-seconds has no use with --costs");
}

}  // namespace
}  // namespace foretoken::tune_options_test
