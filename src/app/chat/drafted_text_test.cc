#include "app/chat/drafted_text.h"

#include <gtest/gtest.h>

#include <string>

namespace foretoken {
namespace {

// "[SUFFIX: cd]" for what was drafted.
std::string shown(DraftedText& drafted, std::string_view text) {
  std::string out;
  for (const auto& [piece, drafter] : drafted.split(text))
    out += drafter.empty() ? std::string(piece) : "[" + drafter + ":" + std::string(piece) + "]";
  return out;
}

TEST(DraftedText, PiecesAreAsLongAsTheyHaveOneDrafter) {
  DraftedText drafted;
  drafted.add({{"ab", ""}, {"cd", "S"}, {"ef", "S"}, {"gh", "E"}, {"i", ""}});
  EXPECT_EQ(shown(drafted, "abcdefghi"), "ab[S:cdef][E:gh]i");
}

TEST(DraftedText, TextMayComeLaterAndCutElsewhere) {
  DraftedText drafted;
  drafted.add({{"ab", ""}, {"cd", "S"}});
  EXPECT_EQ(shown(drafted, "a"), "a");
  drafted.add({{"ef", "E"}});
  EXPECT_EQ(shown(drafted, "bc"), "b[S:c]");
  EXPECT_EQ(shown(drafted, "def"), "[S:d][E:ef]");
  EXPECT_EQ(shown(drafted, ""), "");
}

TEST(DraftedText, TokensWithoutTextAreSkipped) {
  DraftedText drafted;
  drafted.add(
      {{"<think>", ""}, {"\n", ""}, {"hm", "S"}, {"</think>", ""}, {"\n\n", "S"}, {" yes", "E"}});
  EXPECT_EQ(shown(drafted, "hm"), "[S:hm]");
  EXPECT_EQ(shown(drafted, "yes"), "[E:yes]");
}

TEST(DraftedText, ACharacterIsNotCut) {
  DraftedText drafted;
  drafted.add({{"\xF0\x9F", "S"}, {"\x98\x80", ""}, {"x", ""}});
  EXPECT_EQ(shown(drafted, "\xF0\x9F\x98\x80x"), "[S:\xF0\x9F\x98\x80]x");
}

TEST(DraftedText, TextThatNoTokenToldIsPlain) {
  DraftedText drafted;
  EXPECT_EQ(shown(drafted, "abc"), "abc");
  drafted.add({{"abc", "S"}});
  EXPECT_EQ(shown(drafted, "other"), "other");
  EXPECT_EQ(shown(drafted, "abc"), "[S:abc]");
}

TEST(DraftedText, WhatNoTextTakesDoesNotPileUp) {
  DraftedText drafted;
  drafted.add({{"lost", "S"}});
  for (int i = 0; i < 200; ++i) drafted.add({{std::string(1000, 'x'), "S"}});
  EXPECT_EQ(shown(drafted, "lost"), "lost");
  drafted.add({{"here", "S"}});
  EXPECT_EQ(shown(drafted, "here"), "[S:here]");
}

}  // namespace
}  // namespace foretoken
