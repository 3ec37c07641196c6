#include "app/flags/flag_parser.h"

#include <gtest/gtest.h>

#include "app/flags/flag_match.h"

namespace foretoken::flag_parser_test {
namespace {

FlagValues parse(std::vector<std::string> args) { return parse_flags(args, serve_flags()); }

std::string usage_error(const std::vector<std::string>& args) {
  try {
    parse_flags(args, serve_flags());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FlagParser, values_follow_as_the_next_word_or_after_an_equals_sign) {
  EXPECT_EQ(parse({"--port", "8000"}).integer("--port"), 8000);
  EXPECT_EQ(parse({"--port=8000"}).integer("--port"), 8000);
  EXPECT_EQ(parse({"--served-model-name=a=b"}).text("--served-model-name"), "a=b");
  EXPECT_EQ(parse({"--served-model-name="}).text("--served-model-name"), "");
}

TEST(FlagParser, flags_that_were_not_given_answer_with_their_default) {
  const auto values = parse({});
  EXPECT_FALSE(values.given("--port"));
  EXPECT_EQ(values.integer("--port"), 30000);
  EXPECT_EQ(values.integer("--context-length"), std::nullopt);
  EXPECT_FALSE(values.on("--enable-metrics"));
}

TEST(FlagParser, names_stand_anywhere_among_the_flags) {
  const auto parsed = [](const std::vector<std::string>& args) {
    return parse_names_and_flags(args, pull_flags());
  };
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"a/b", "c/d", "--revision", "main"},
        {"--revision", "main", "a/b", "c/d"},
        {"a/b", "--revision=main", "c/d"}}) {
    EXPECT_EQ(parsed(args).names, (std::vector<std::string>{"a/b", "c/d"}));
    EXPECT_EQ(parsed(args).flags.text("--revision"), "main");
  }
}

TEST(FlagParser, an_unambiguous_prefix_means_the_flag) {
  EXPECT_EQ(parse({"--mem-fraction", "0.6"}).number("--mem-fraction-static"), 0.6);
  EXPECT_EQ(parse({"--mem=0.6"}).number("--mem-fraction-static"), 0.6);
  EXPECT_EQ(parse({"--max-run", "3"}).integer("--max-running-requests"), 3);
}

TEST(FlagParser, an_exact_name_wins_over_longer_names_that_begin_with_it) {
  EXPECT_EQ(parse({"--model", "m"}).text("--model-path"), "m");
  EXPECT_EQ(parse({"--log-requests"}).on("--log-requests"), true);
}

TEST(FlagParser, a_prefix_of_two_names_of_one_flag_is_not_ambiguous) {
  EXPECT_TRUE(parse({"--nsa-d", "fa3"}).given("--dsa-decode-backend"));
}

TEST(FlagParser, an_ambiguous_prefix_names_the_candidates) {
  EXPECT_EQ(usage_error({"--sampling", "model"}),
            "--sampling is ambiguous: it could be --sampling-backend or --sampling-defaults");
  const auto many = usage_error({"--speculative-n", "3"});
  EXPECT_NE(many.find("--speculative-num-steps"), std::string::npos) << many;
  EXPECT_NE(many.find("more"), std::string::npos) << many;
}

TEST(FlagParser, an_unknown_flag_names_the_nearest_ones) {
  EXPECT_EQ(usage_error({"--prot", "1"}), "unknown flag --prot: did you mean --port?");
  EXPECT_EQ(usage_error({"--frobnicate-everything"}), "unknown flag --frobnicate-everything");
  EXPECT_EQ(usage_error({"-x"}).substr(0, 15), "unknown flag -x");
  // One letter in four may be wrong.
  EXPECT_EQ(usage_error({"--enbl-metriks"}),
            "unknown flag --enbl-metriks: did you mean --enable-metrics?");
}

TEST(FlagMatch, two_hyphens_alone_are_no_prefix) {
  const FlagTable table{{"Group", {{.names = {"--one"}, .text = "it"}}}};
  EXPECT_EQ(match_flag("--o", table).name(), "--one");
  EXPECT_THROW(match_flag("--", table), UsageError);
}

TEST(FlagParser, a_word_that_belongs_to_no_flag_is_an_error) {
  EXPECT_EQ(usage_error({"model"}), "unexpected argument 'model': values follow a --flag");
  EXPECT_EQ(usage_error({"--enable-metrics", "yes"}),
            "unexpected argument 'yes': values follow a --flag");
}

TEST(FlagParser, a_missing_value_is_an_error) {
  EXPECT_EQ(usage_error({"--port"}), "--port needs a value");
  EXPECT_EQ(usage_error({"--port", "--host"}), "--port needs a value");
}

TEST(FlagParser, a_switch_takes_no_value) {
  EXPECT_EQ(usage_error({"--enable-metrics=true"}),
            "--enable-metrics takes no value, found 'true'");
}

TEST(FlagParser, numbers_are_checked) {
  EXPECT_EQ(usage_error({"--port", "80x"}), "--port: expected an integer, found '80x'");
  EXPECT_EQ(usage_error({"--port", "99999999999999999999"}),
            "--port: expected an integer, found '99999999999999999999'");
  EXPECT_EQ(usage_error({"--mem-fraction-static", "much"}),
            "--mem-fraction-static: expected a number, found 'much'");
  EXPECT_EQ(usage_error({"--mem-fraction-static", "nan"}),
            "--mem-fraction-static: expected a number, found 'nan'");
}

TEST(FlagParser, negative_numbers_and_texts_with_spaces_are_values) {
  EXPECT_EQ(parse({"--chunked-prefill-size", "-1"}).integer("--chunked-prefill-size"), -1);
  EXPECT_EQ(parse({"--chat-template", "-{{ x }}"}).text("--chat-template"), "-{{ x }}");
}

TEST(FlagParser, the_last_of_a_repeated_flag_wins) {
  EXPECT_EQ(parse({"--port", "1", "--port", "2"}).integer("--port"), 2);
}

TEST(FlagParser, a_list_runs_to_the_next_flag) {
  const auto values = parse({"--cuda-graph-bs", "1", "2", "4", "--port", "2"});
  EXPECT_EQ(values.list("--cuda-graph-bs"), (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(values.integer("--port"), 2);
  EXPECT_EQ(usage_error({"--cuda-graph-bs", "1", "x"}),
            "--cuda-graph-bs: expected an integer, found 'x'");
}

TEST(FlagParser, choices_are_checked) {
  EXPECT_EQ(usage_error({"--schedule-policy", "best"}),
            "--schedule-policy: expected one of fcfs, lpm or random, found 'best'");
  EXPECT_EQ(usage_error({"--schedule-policy", "lof"}),
            "--schedule-policy lof: not supported yet: the policies are fcfs, lpm and random");
}

TEST(FlagParser, values_that_begin_as_permitted_are_taken) {
  EXPECT_EQ(usage_error({"--device", "vulkan:llvmpipe"}), "no error");
  EXPECT_EQ(usage_error({"--device", "vulkan2"}),
            "--device: expected one of auto, cpu, vulkan or reference, found 'vulkan2'");
}

TEST(FlagParser, lists_of_which_each_part_counts_may_be_given_in_parts) {
  const auto values = parse(
      {"--allow-origin", "https://a", "--port", "1", "--allow-origin", "https://b", "https://c"});
  EXPECT_EQ(values.list("--allow-origin"),
            (std::vector<std::string>{"https://a", "https://b", "https://c"}));
}

TEST(FlagParser, refused_flags_are_gathered_under_their_reason) {
  EXPECT_EQ(
      usage_error({"--speculative-adaptive", "--tp", "2", "--speculative-adaptive-config", "3"}),
      "--speculative-adaptive, --speculative-adaptive-config 3: not supported yet: drafts by this "
      "method (the answers would be the same without these flags); "
      "--tp-size 2: not supported yet: the model runs on one device");
}

TEST(FlagParser, flags_without_effect_give_one_note_each) {
  const auto notes = notes_of(parse(
      {"--cuda-graph-max-bs", "8", "--disable-cuda-graph", "--trust-remote-code", "--port", "1"}));
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "--trust-remote-code has no effect here: nothing remote is ever executed "
                       "here",
                       "--cuda-graph-max-bs has no effect here: there are no CUDA graphs on a CPU",
                       "--disable-cuda-graph has no effect here: there are no CUDA graphs on a "
                       "CPU"}));
}

}  // namespace
}  // namespace foretoken::flag_parser_test
