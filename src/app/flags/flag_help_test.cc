#include "app/flags/flag_help.h"

#include <sstream>

#include <gtest/gtest.h>

#include "app/flags/flag_table.h"

namespace foretoken {
namespace {

using enum FlagKind;
using enum Support;

TEST(FlagHelp, shows_supported_flags_by_group_and_lists_the_others_by_name) {
  const FlagTable table = {
      {"First",
       {{.names = {"--alpha", "--al"}, .text = "the first letter", .default_value = "a"},
        {.names = {"--beta"}, .kind = kSwitch, .text = "the second"},
        {.names = {"--gamma"}, .kind = kInteger, .text = "counts", .default_note = "computed"},
        {.names = {"--a-rather-long-name-of-a-flag"}, .kind = kNumber, .text = "goes below"},
        {.names = {"--delta"}, .text = "picks", .default_value = "x", .choices = {"x", "y"}},
        {.names = {"--idle"}, .support = kNoEffect, .text = "reason"}}},
      {"Hidden", {{.names = {"--later"}, .support = kRefused, .text = "not supported yet"}}}};
  EXPECT_EQ(help_text(table), R"(
First:
  --alpha, --al TEXT              the first letter (default: a)
  --beta                          the second
  --gamma N                       counts (default: computed)
  --a-rather-long-name-of-a-flag X
                                  goes below
  --delta x|y                     picks (default: x)

Accepted without effect (the log says why):
  --idle

SGLang's, refused with the reason unless they ask for the default:
  --later
)");
}

TEST(FlagHelp, the_help_of_serve_names_every_flag_and_fits_a_terminal) {
  const std::string help = help_text(serve_flags());
  for (const auto& group : serve_flags())
    for (const auto& flag : group.flags)
      EXPECT_NE(help.find(flag.name()), std::string::npos) << flag.name();
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace foretoken
