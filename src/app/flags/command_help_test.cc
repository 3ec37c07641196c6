#include "app/flags/command_help.h"

#include <gtest/gtest.h>

#include <array>

#include "base/usage_error.h"

namespace foretoken {
namespace {

using enum FlagKind;

std::vector<CommandHelp> example() {
  const FlagGroup model = {
      "Model",
      {{.names = {"--kind", "-k"}, .text = "it's [any]: kind\\of", .choices = {"one", "two"}},
       {.names = {"--path"}, .text = "where it is"},
       {.names = {"--count"}, .kind = kInteger, .text = "so many", .default_value = "-1"},
       {.names = {"--quick"}, .kind = kSwitch, .text = "sooner"},
       {.names = {"--gone"}, .support = Support::kRefused, .text = "no more"},
       {.names = {"--idle"}, .support = Support::kNoEffect, .text = "nothing"}}};
  const FlagGroup own = {"Own", {{.names = {"--own"}, .text = ".begins with a dot"}}};
  return {{"serve", "foretoken serve", "Serves.", {model}},
          {"list", "foretoken list", "Lists.", {own, model}}};
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Completions, BashHasFlagsOfEachCommandAndValues) {
  const std::string text = completions_of("bash", example());
  EXPECT_TRUE(holds(text, "serve) flags='--kind -k --path --count --quick --help")) << text;
  EXPECT_TRUE(holds(text, "list) flags='--kind -k --path --count --quick --own --help")) << text;
  EXPECT_TRUE(holds(text, "--kind|-k) values='one two' ;;")) << text;
  EXPECT_TRUE(holds(text, "--count) return ;;")) << text;
}

TEST(Completions, ZshAndFishQuoteWhatTheyAreTold) {
  EXPECT_TRUE(holds(completions_of("zsh", example()),
                    R"('*--kind[it'\''s \[any\]\: kind\\of]:value:(one two)')"));
  const std::string fish = completions_of("fish", example());
  EXPECT_TRUE(holds(fish, R"(from serve list' -l kind -x -a 'one two' -d 'it\'s [any]: kind\\of')"))
      << fish;
  EXPECT_TRUE(holds(fish, "from serve list' -o k "));
  EXPECT_TRUE(holds(fish, "from list' -l own -r -F"));
}

TEST(Completions, WhatDoesNothingIsNotOffered) {
  for (const char* shell : {"bash", "zsh", "fish"})
    for (const char* name : {"gone", "idle"})
      EXPECT_FALSE(holds(completions_of(shell, example()), name)) << shell;
  EXPECT_FALSE(holds(man_page_of(example(), "1"), "gone"));
}

TEST(Completions, OtherShellsAreRefused) {
  EXPECT_THROW(completions_of("tcsh", example()), UsageError);
  EXPECT_THROW(completions_of("", example()), UsageError);
}

TEST(ManPage, EachFlagIsThereOnceWithItsDefault) {
  const std::string page = man_page_of(example(), "1.2-3");
  EXPECT_TRUE(holds(page, "\"foretoken 1.2\\-3\"")) << page;
  EXPECT_TRUE(holds(page,
                    ".SS \"Own (foretoken list only)\"\n.TP\n\\fB\\-\\-own\\fR TEXT\n"
                    "\\&.begins with a dot\n"))
      << page;
  EXPECT_TRUE(holds(page, "\\fB\\-\\-kind\\fR, \\fB\\-k\\fR one|\\:two\nit's [any]: kind\\eof\n"));
  EXPECT_TRUE(holds(page, "so many (default: \\-1)\n"));
  EXPECT_EQ(page.find("\\-\\-path"), page.rfind("\\-\\-path"));
}

}  // namespace
}  // namespace foretoken
