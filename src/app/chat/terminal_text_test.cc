#include "app/chat/terminal_text.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(TerminalText, TextCannotCommandTheTerminal) {
  EXPECT_EQ(harmless("a\x1b]0;title\x07z"), "a\uFFFD]0;title\uFFFDz");
  EXPECT_EQ(harmless("a\rb\x7f"), "a\uFFFDb\uFFFD");
  EXPECT_EQ(harmless("\u009b2J"), "\uFFFD2J");  // CSI as one character
  EXPECT_EQ(harmless(std::string_view("\0", 1)), "\uFFFD");
}

TEST(TerminalText, TextStaysText) {
  EXPECT_EQ(harmless("tab\tline\n\u00a0 \u00e9 \U0001F600 \u4e2d"),
            "tab\tline\n\u00a0 \u00e9 \U0001F600 \u4e2d");
  EXPECT_EQ(harmless(""), "");
}

TEST(TerminalText, ColoursAreThereWhereTheyAreOn) {
  const TerminalStyle on{true}, off{};
  EXPECT_EQ(on.drafted(0, "x"), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(on.drafted(5, "x"), on.drafted(0, "x"));
  EXPECT_NE(on.drafted(1, "x"), on.drafted(0, "x"));
  EXPECT_EQ(on.faint("x"), "\x1b[2mx\x1b[0m");
  EXPECT_EQ(on.faint(""), "");
  EXPECT_EQ(off.drafted(0, "x") + off.faint("y") + off.fault("z"), "xyz");
}

}  // namespace
}  // namespace foretoken
