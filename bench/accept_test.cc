#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "bench/accept_report.h"
#include "bench/draft_methods.h"
#include "bench/prompt_file.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PromptFile, the_shipped_prompts_are_80_conversations_of_8_categories) {
  const auto prompts = read_prompts(FORETOKEN_SOURCE_DIR "/bench/prompts/demo.jsonl");
  std::set<std::string> categories;
  for (const BenchPrompt& prompt : prompts) {
    categories.insert(prompt.category);
    EXPECT_EQ(prompt.turns.size(), 2U);
  }
  EXPECT_EQ(prompts.size(), 80U);
  EXPECT_EQ(categories.size(), 8U);
}

std::string fault_of_line(const std::string& line) {
  const std::string path = testing::TempDir() + "prompts.jsonl";
  std::ofstream(path) << "\n" << line;
  try {
    read_prompts(path);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(PromptFile, bad_lines_are_named) {
  EXPECT_EQ(fault_of_line(R"({"turns": ["a"]})"), "");
  EXPECT_THAT(fault_of_line("{"), HasSubstr("prompts.jsonl, line 2"));
  EXPECT_THAT(fault_of_line("[]"), HasSubstr(R"(expected {"turns": ["..."]})"));
  EXPECT_THAT(fault_of_line(R"({"turns": []})"), HasSubstr("line 2"));
  EXPECT_THAT(fault_of_line(R"({"turns": [7]})"), HasSubstr("turns that are texts"));
  EXPECT_THAT(fault_of_line(""), HasSubstr("no prompts"));
}

TEST(DraftMethods, a_method_is_a_name_and_flags) {
  const auto methods = methods_of("folder", {"mine=--a b --c"});
  ASSERT_EQ(methods.size(), 2U);
  EXPECT_FALSE(methods[0].drafts());
  EXPECT_EQ(methods[1].name, "mine");
  EXPECT_THAT(methods[1].flags, ElementsAre("--a", "b", "--c"));
  EXPECT_THROW(methods_of("folder", {"--a"}), Error);
}

TEST(DraftMethods, each_that_drafts_runs_with_each_value) {
  const auto plain_and_mine = methods_of("folder", {"mine=--a"});
  const auto methods = with_variants(plain_and_mine, "--draft-budget", {"full", "auto"});
  ASSERT_EQ(methods.size(), 3U);
  EXPECT_EQ(methods[1].name, "mine, full");
  EXPECT_THAT(methods[2].flags, ElementsAre("--a", "--draft-budget", "auto"));
  EXPECT_EQ(with_variants(plain_and_mine, "--draft-coupling", {}).size(), 2U);
}

TEST(DraftMethods, what_is_missing_is_named) {
  for (const DraftMethod& method : demo_methods("/none"))
    EXPECT_THAT(missing_for(method), HasSubstr("/none/demo"));
}

TEST(AcceptReport, ratios_are_to_plain_decoding_of_the_same_model_and_repeat) {
  MethodResult plain{.name = "plain", .model = "m", .is_plain = true, .seconds = {2, 4, 8}};
  plain.tokens = plain.verify_steps = 100;
  MethodResult eagle{.name = "eagle", .model = "m", .seconds = {1, 1, 1}};
  eagle.tokens = 100;
  eagle.verify_steps = 40;
  eagle.accepted_drafts = 60;
  eagle.proposed_drafts = 120;
  EXPECT_DOUBLE_EQ(accept_length(eagle), 2.5);
  EXPECT_DOUBLE_EQ(speed_up(eagle, plain), 4.0);
  EXPECT_DOUBLE_EQ(tokens_per_second(plain), 25.0);
  eagle.different_answers = 3;
  eagle.answers = 9;
  const MethodResult skipped{.name = "lost", .model = "m", .skipped = "there is no m"};
  const std::string text = format_results({plain, eagle, skipped});
  EXPECT_THAT(text,
              HasSubstr("eagle                        2.50     0.50      100.0     4.00  3 of 9 "
                        "DIFFER"));
  EXPECT_THAT(text, HasSubstr("skipped: there is no m"));
}

TEST(AcceptReport, loads_stand_side_by_side) {
  MethodResult plain{.name = "plain", .is_plain = true, .seconds = {1, 1, 1}, .tokens = 10};
  MethodResult fast{.name = "fast", .seconds = {0.5, 0.5, 0.4}, .tokens = 10};
  const std::vector<MethodResult> one{plain, fast};
  fast.seconds = {2, 2, 4};
  const std::string text = format_loads({1, 64}, {one, {plain, fast}});
  EXPECT_NE(text.find("      1     64\n"), std::string::npos) << text;
  EXPECT_NE(text.find("   2.00   0.50\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("plain  "), std::string::npos) << text;
}

TEST(AcceptReport, ratios_are_to_the_same_engine_where_it_ran_without_drafts) {
  const MethodResult plain{.name = "plain", .is_plain = true, .seconds = {1, 1}, .tokens = 10};
  const MethodResult fast{.name = "fast", .plain = 2, .seconds = {1, 1}, .tokens = 10};
  const MethodResult off{.name = "fast, off", .is_off = true, .seconds = {3, 3}, .tokens = 10};
  const std::string text = format_loads({4}, {{plain, fast, off}});
  EXPECT_NE(text.find("   3.00\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("off"), std::string::npos) << text;
  EXPECT_NE(format_results({plain, fast, off}).find("0.33"), std::string::npos);
}

TEST(AcceptReport, simulated_texts_are_not_compared) {
  const MethodResult plain{.name = "plain", .is_plain = true, .seconds = {1}, .tokens = 10};
  const MethodResult simulated{
      .name = "x", .is_simulated = true, .seconds = {1}, .tokens = 10, .answers = 1};
  EXPECT_NE(format_results({plain, simulated}).find("simulated"), std::string::npos);
}

}  // namespace
}  // namespace foretoken
