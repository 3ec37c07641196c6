#include "app/chat/chat_line.h"

#include <gtest/gtest.h>

namespace foretoken::chat_line_test {
namespace {

ChatLine parsed(std::string_view line) {
  const auto read = parse_chat_line(line);
  EXPECT_TRUE(read) << line << ": " << (read ? "" : read.refusal().message);
  return read ? *read : ChatLine{};
}

std::string refused(std::string_view line) {
  const auto read = parse_chat_line(line);
  EXPECT_FALSE(read) << line;
  return read ? "" : read.refusal().message;
}

TEST(ChatLine, WhatBeginsWithNoSlashIsSaid) {
  EXPECT_EQ(parsed("  How are you? ").verb, ChatVerb::kSay);
  EXPECT_EQ(parsed("  How are you? ").text, "How are you?");
  EXPECT_EQ(parsed("one\ntwo").text, "one\ntwo");
  EXPECT_EQ(parsed(" \t ").verb, ChatVerb::kNothing);
  EXPECT_EQ(parsed("").verb, ChatVerb::kNothing);
}

TEST(ChatLine, TwoSlashesSayOne) {
  EXPECT_EQ(parsed("//etc/passwd is what?").verb, ChatVerb::kSay);
  EXPECT_EQ(parsed("//etc/passwd is what?").text, "/etc/passwd is what?");
}

TEST(ChatLine, ATextBetweenFencesIsSaidAsItIs) {
  EXPECT_EQ(parsed("\"\"\"\n/help\n  indented\\\n\"\"\"").text, "/help\n  indented\\");
  EXPECT_EQ(parsed("\"\"\"\r\na\r\n\"\"\"").text, "a");
  EXPECT_EQ(parsed("\"\"\"one line\"\"\"").text, "one line");
  EXPECT_EQ(parsed("\"\"\"\nwithout its end").text, "without its end");
  EXPECT_EQ(parsed("\"\"\"\n \n\"\"\"").verb, ChatVerb::kNothing);
}

TEST(ChatLine, ATextIsCompleteBehindItsSecondFence) {
  EXPECT_TRUE(is_complete_input("a line"));
  EXPECT_TRUE(is_complete_input(""));
  EXPECT_TRUE(is_complete_input("a \"\"\" within"));
  EXPECT_FALSE(is_complete_input("\"\"\""));
  EXPECT_FALSE(is_complete_input("  \"\"\"\nfirst\n"));
  EXPECT_FALSE(is_complete_input("\"\"\"\""));
  EXPECT_TRUE(is_complete_input("\"\"\"\nfirst\n\"\"\" "));
  EXPECT_TRUE(is_complete_input("\"\"\"\"\"\""));
}

TEST(ChatLine, CommandsHaveTheirArguments) {
  EXPECT_EQ(parsed("/help").verb, ChatVerb::kHelp);
  EXPECT_EQ(parsed(" /set   temperature  0.7 ").verb, ChatVerb::kSet);
  EXPECT_EQ(parsed(" /set   temperature  0.7 ").text, "temperature  0.7");
  EXPECT_EQ(parsed("/system Be\nbrief.").text, "Be\nbrief.");
  EXPECT_EQ(parsed("/spec off").text, "off");
  EXPECT_EQ(parsed("/spec").text, "");
  EXPECT_EQ(parsed("/save a file.json").text, "a file.json");
  EXPECT_EQ(parsed("/quit").verb, ChatVerb::kQuit);
  EXPECT_EQ(parsed("/exit").verb, ChatVerb::kQuit);
}

TEST(ChatLine, WhatIsNoCommandIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(refused("/sett x"),
            "unknown command '/sett': /help lists them; a message that begins with a slash begins "
            "with //");
  EXPECT_EQ(refused("/"), refused("/ x"));
  EXPECT_EQ(refused("/save"), "/save: expected FILE, found nothing");
  EXPECT_EQ(refused("/spec maybe"), "/spec: expected on or off, found 'maybe'");
  EXPECT_EQ(refused("/new start"), "/new: expected nothing behind it, found 'start'");
}

TEST(ChatLine, HelpAndCompletionNameEveryCommand) {
  const std::string help = chat_help(), lines = completed_lines({"temperature", "top_p"});
  for (const char* name : {"/help", "/new", "/retry", "/system", "/set", "/spec", "/colour",
                           "/save", "/load", "/quit"}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
    EXPECT_NE(lines.find(name), std::string::npos) << name;
  }
  EXPECT_NE(lines.find("/set temperature\n/set top_p\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("/spec off\n/spec on"), std::string::npos) << lines;
}

}  // namespace
}  // namespace foretoken::chat_line_test
