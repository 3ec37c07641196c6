// Every row of the flag table, tried on the command line in the way its kind wants.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "app/flags/flag_parser.h"

namespace foretoken::flag_table_test {
namespace {

std::vector<Flag> all_flags() {
  std::vector<Flag> flags;
  for (const auto& group : serve_flags())
    flags.insert(flags.end(), group.flags.begin(), group.flags.end());
  return flags;
}

// A value that the flag's kind can read and that does not ask for the default.
std::string sample_value(const Flag& flag) {
  if (flag.support == Support::kYes && !flag.choices.empty())
    return std::string(flag.choices.back());
  switch (flag.kind) {
    case FlagKind::kInteger:
    case FlagKind::kIntegerList:
      return "7";
    case FlagKind::kNumber:
      return "0.5";
    default:
      return "sample";
  }
}

std::vector<std::string> command_line(const Flag& flag, std::string_view name) {
  if (flag.kind == FlagKind::kSwitch) return {std::string(name)};
  return {std::string(name), sample_value(flag)};
}

std::string usage_error(const std::vector<std::string>& args) {
  try {
    parse_flags(args, serve_flags());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(FlagTable, names_are_unique_and_well_formed) {
  std::set<std::string_view> names;
  for (const auto& flag : all_flags()) {
    EXPECT_FALSE(flag.text.empty()) << flag.name();
    for (const auto name : flag.names) {
      EXPECT_TRUE(name.starts_with("--")) << name;
      EXPECT_TRUE(names.insert(name).second) << name << " occurs twice";
    }
  }
}

TEST(FlagTable, defaults_can_be_read_and_are_permitted) {
  for (const auto& flag : all_flags()) {
    if (flag.default_value.empty()) continue;
    const FlagValues none(serve_flags());
    if (flag.kind == FlagKind::kInteger) {
      EXPECT_TRUE(none.integer(flag.name())) << flag.name();
    }
    if (flag.kind == FlagKind::kNumber) {
      EXPECT_TRUE(none.number(flag.name())) << flag.name();
    }
    if (!flag.choices.empty()) {
      EXPECT_NE(std::ranges::find(flag.choices, flag.default_value), flag.choices.end())
          << flag.name();
    }
  }
}

TEST(FlagTable, every_name_of_every_supported_flag_is_read) {
  for (const auto& flag : all_flags()) {
    if (flag.support != Support::kYes) continue;
    for (const auto name : flag.names) {
      const auto values = parse_flags(command_line(flag, name), serve_flags());
      EXPECT_TRUE(values.given(flag.name())) << name;
      if (flag.kind != FlagKind::kSwitch) {
        EXPECT_EQ(values.text(flag.name()), sample_value(flag)) << name;
      }
      EXPECT_TRUE(notes_of(values).empty()) << name;
    }
  }
}

TEST(FlagTable, every_flag_without_effect_gives_exactly_one_note_with_its_name) {
  for (const auto& flag : all_flags()) {
    if (flag.support != Support::kNoEffect) continue;
    for (const auto name : flag.names) {
      const auto notes = notes_of(parse_flags(command_line(flag, name), serve_flags()));
      ASSERT_EQ(notes.size(), 1U) << name;
      EXPECT_TRUE(notes.front().starts_with(flag.name())) << notes.front();
    }
  }
}

TEST(FlagTable, every_refused_flag_is_refused_by_name_with_its_reason) {
  for (const auto& flag : all_flags()) {
    if (flag.support != Support::kRefused) continue;
    EXPECT_TRUE(flag.text.starts_with("not supported")) << flag.name();
    for (const auto name : flag.names) {
      const auto error = usage_error(command_line(flag, name));
      EXPECT_TRUE(error.starts_with(flag.name())) << error;
      EXPECT_NE(error.find(flag.text), std::string::npos) << error;
    }
  }
}

TEST(FlagTable, refused_flags_that_ask_for_what_is_the_case_anyway_are_accepted) {
  for (const auto& flag : all_flags()) {
    if (flag.support != Support::kRefused) continue;
    for (const auto choice : flag.choices)
      EXPECT_EQ(usage_error({std::string(flag.name()), std::string(choice)}), "") << flag.name();
  }
}

TEST(FlagTable, every_refused_value_is_refused_with_its_reason) {
  for (const auto& flag : all_flags()) {
    for (const auto choice : flag.refused_choices) {
      const auto error = usage_error({std::string(flag.name()), std::string(choice)});
      EXPECT_EQ(error, std::string(flag.name()) + " " + std::string(choice) + ": " +
                           std::string(flag.refused_reason));
    }
  }
}

// The names of the fields of SGLang's ServerArgs as of 2026, with aliases and those that it has
// renamed or dropped since 2024. No name in the list may be "unknown".
TEST(FlagTable, every_flag_of_sglang_is_known_by_name) {
  std::set<std::string_view> known;
  const auto flags = all_flags();
  for (const auto& flag : flags) known.insert(flag.names.begin(), flag.names.end());
  std::ifstream list(FORETOKEN_SOURCE_DIR "/src/app/flags/sglang_flags.txt");
  int names = 0;
  for (std::string name; std::getline(list, name); ++names)
    EXPECT_TRUE(known.contains(name)) << name;
  EXPECT_GT(names, 400);
}

TEST(FlagTable, the_other_subcommands_share_the_rows_that_concern_them) {
  const std::vector<std::string> generate = {"--prompt", "Hi", "--model", "m", "--threads", "2"};
  EXPECT_EQ(parse_flags(generate, generate_flags()).text("--prompt"), "Hi");
  const std::vector<std::string> tokenize = {"--model", "m", "--chat-template", "{{ x }}"};
  EXPECT_EQ(parse_flags(tokenize, tokenize_flags()).text("--model-path"), "m");
  EXPECT_THROW(parse_flags(std::vector<std::string>{"--port", "1"}, tokenize_flags()), UsageError);
}

}  // namespace
}  // namespace foretoken::flag_table_test
