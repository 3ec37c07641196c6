#include "app/chat/answer_printer.h"

#include <gtest/gtest.h>

#include <functional>

namespace foretoken {
namespace {

std::string printed(bool is_terminal, bool is_coloured,
                    const std::function<void(AnswerPrinter&)>& use) {
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&bytes, &size);
  std::vector<std::string> drafters;
  AnswerPrinter printer(out, is_terminal, {is_coloured}, drafters);
  use(printer);
  std::fclose(out);
  std::string text(bytes, size);
  std::free(bytes);
  return text;
}

void answer(AnswerPrinter& printer) {
  printer.add({.reasoning = "Hm.", .tokens = {{"Hm.", ""}}});
  printer.add({.content = "One two", .tokens = {{"One", ""}, {" two", "SUFFIX"}}});
  printer.add({.content = "\x1b[2J", .finish = "stop", .tokens = {{"\x1b[2J", ""}}});
  printer.add(
      {.report = ToldReport{2, 1, {{"SUFFIX", 4, 1}, {"OTHER", 0, 0}}}, .completion_tokens = 4});
  printer.end("");
}

TEST(AnswerPrinter, ElsewhereThanOnATerminalTheTextIsAll) {
  EXPECT_EQ(printed(false, false, answer), "One two\x1b[2J\n");
}

TEST(AnswerPrinter, ATerminalHasFiguresAndNoCommands) {
  const std::string text = printed(true, false, answer);
  EXPECT_TRUE(text.starts_with("Hm.\n\nOne two\uFFFD[2J\n4 tokens · ")) << text;
  EXPECT_TRUE(text.ends_with(" · accept length 1.50 · SUFFIX 1 of 4\n")) << text;
  EXPECT_EQ(text.find("OTHER"), std::string::npos) << text;
}

TEST(AnswerPrinter, AcceptedDraftsAreColoured) {
  const std::string text = printed(true, true, answer);
  EXPECT_NE(text.find("One\x1b[32m two\x1b[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\x1b[32mSUFFIX 1 of 4\x1b[0m"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("\x1b[2mHm.\x1b[0m")) << text;
}

TEST(AnswerPrinter, ItSaysHowAnAnswerEnded) {
  const auto cut = [](AnswerPrinter& printer) {
    printer.add({.content = "a\n", .finish = "length"});
    printer.end("");
  };
  EXPECT_EQ(printed(true, false, cut), "a\ncut at the limit of tokens\n");
  const auto stopped = [](AnswerPrinter& printer) {
    printer.add({.content = "a"});
    printer.end("stopped");
  };
  EXPECT_EQ(printed(true, false, stopped), "a\nstopped\n");
  const auto nothing = [](AnswerPrinter& printer) { printer.end(""); };
  EXPECT_EQ(printed(true, false, nothing), "");
  EXPECT_EQ(printed(false, false, nothing), "");
}

}  // namespace
}  // namespace foretoken
