#include "text/stop_matcher.h"

#include <random>
#include <regex>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::shared_ptr<const StopStrings> stops_of(std::vector<std::string> stops) {
  return std::make_shared<const StopStrings>(std::move(stops));
}

struct Found {
  std::string text;
  std::optional<int> stop;
};

// Feeds `text` in pieces of the given size; the rest is flushed if nothing stops it.
Found feed(StopMatcher matcher, std::string_view text, std::size_t piece_bytes) {
  Found found;
  for (std::size_t at = 0; at < text.size(); at += piece_bytes) {
    StopScan scan = matcher.push(text.substr(at, piece_bytes));
    found.text += scan.text;
    found.stop = scan.stop;
    if (found.stop) return found;
  }
  found.text += matcher.finish();
  return found;
}

// Character by character: the stop that ends first, the longest of those.
Found naive(const std::vector<std::string>& stops, std::string_view text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool ends_here = !stops[i].empty() && text.substr(0, end).ends_with(stops[i]);
      if (ends_here &&
          (best < 0 || stops[i].size() > stops[static_cast<std::size_t>(best)].size())) {
        best = static_cast<int>(i);
      }
    }
    if (best >= 0) {
      return {std::string(text.substr(0, end - stops[static_cast<std::size_t>(best)].size())),
              best};
    }
  }
  return {std::string(text), std::nullopt};
}

TEST(StopMatcher, a_stop_across_pieces_is_found_and_trimmed) {
  StopMatcher matcher(stops_of({"\n\nUser:"}));
  EXPECT_EQ(matcher.push("Hello\n").text, "Hello");
  EXPECT_EQ(matcher.push("\nUs").text, "");
  const StopScan scan = matcher.push("er: more");
  EXPECT_EQ(scan.text, "");
  EXPECT_EQ(scan.stop, 0);
}

TEST(StopMatcher, a_held_prefix_is_released_when_it_fails) {
  StopMatcher matcher(stops_of({"abcd"}));
  EXPECT_EQ(matcher.push("xabc").text, "x");
  EXPECT_EQ(matcher.push("ab").text, "abc");
  EXPECT_EQ(matcher.finish(), "ab");
}

TEST(StopMatcher, kept_stops_stay_in_the_text) {
  StopMatcher matcher(stops_of({"END"}), StopTrim::kKeep);
  EXPECT_EQ(matcher.push("the E").text, "the ");
  const StopScan scan = matcher.push("ND of it");
  EXPECT_EQ(scan.text, "END");
  EXPECT_EQ(scan.stop, 0);
}

TEST(StopMatcher, the_stop_that_ends_first_wins) {
  EXPECT_EQ(feed(StopMatcher(stops_of({"abcd", "bc"})), "xabcd", 100).stop, 1);
  EXPECT_EQ(feed(StopMatcher(stops_of({"bc", "abc"})), "xabcd", 100).stop, 1)
      << "of two at the same end, the longest";
}

TEST(StopMatcher, empty_stops_match_nothing) {
  const Found found = feed(StopMatcher(stops_of({"", ""})), "text", 1);
  EXPECT_EQ(found.text, "text");
  EXPECT_FALSE(found.stop);
}

TEST(StopMatcher, would_match_looks_without_moving) {
  StopMatcher matcher(stops_of({"xyz"}));
  matcher.push("x");
  EXPECT_TRUE(matcher.would_match("yz"));
  EXPECT_FALSE(matcher.would_match("y"));
  EXPECT_EQ(matcher.push("yz").stop, 0);
  EXPECT_FALSE(StopMatcher(nullptr).would_match("yz"));
}

TEST(StopMatcher, random_texts_agree_with_the_naive_search_for_every_cut) {
  std::mt19937 random(7);
  const auto word = [&](std::size_t longest) {
    std::string text;
    for (std::size_t size = random() % (longest + 1); size > 0; --size)
      text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t count = random() % 4; count > 0; --count) stops.push_back(word(5));
    const auto compiled = stops_of(stops);
    const std::string text = word(30);
    const Found expected = naive(stops, text);
    for (std::size_t piece_bytes : {1, 2, 3, 7, 100}) {
      const Found found = feed(StopMatcher(compiled), text, piece_bytes);
      ASSERT_EQ(found.text, expected.text);
      ASSERT_EQ(found.stop, expected.stop);
    }
  }
}

std::shared_ptr<const StopStrings> expressions_of(const std::vector<std::string>& expressions,
                                                  std::vector<std::string> stops = {}) {
  auto compiled = StopExpressions::compile(expressions);
  EXPECT_TRUE(compiled) << compiled.refusal().message;
  return std::make_shared<const StopStrings>(std::move(stops), expressions, *std::move(compiled));
}

// All substrings, by another library.
Found naive_search(const std::vector<std::string>& expressions, const std::string& text) {
  std::vector<std::regex> compiled(expressions.begin(), expressions.end());
  for (std::size_t end = 1; end <= text.size(); ++end)
    for (std::size_t start = 0; start < end; ++start)
      for (std::size_t i = 0; i < compiled.size(); ++i)
        if (std::regex_match(text.substr(start, end - start), compiled[i]))
          return {text.substr(0, start), static_cast<int>(i)};
  return {text, std::nullopt};
}

std::string random_expression(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 7 : 3)) {
    case 0:
      return {static_cast<char>('a' + random() % 3)};
    case 1:
      return "[ab]";
    case 2:
      return "c";
    case 3:
      return random_expression(random, depth - 1) + "+";
    case 4:
      return "(?:" + random_expression(random, depth - 1) + "|" +
             random_expression(random, depth - 1) + ")";
    case 5:
      return "(?:" + random_expression(random, depth - 1) + ")?" +
             random_expression(random, depth - 1);
    default:
      return random_expression(random, depth - 1) + "(?:" + random_expression(random, depth - 1) +
             ")*" + random_expression(random, depth - 1);
  }
}

TEST(StopMatcher, expressions_are_found_as_a_search_of_all_substrings_finds_them) {
  std::mt19937 random(7);
  int found = 0;
  for (int run = 0; run < 300; ++run) {
    std::vector<std::string> expressions;
    for (unsigned i = 0; i <= random() % 3; ++i)
      expressions.push_back(random_expression(random, 3) + random_expression(random, 2));
    std::string text;
    for (int i = 0; i < 12; ++i) text += static_cast<char>('a' + random() % 3);
    const Found expected = naive_search(expressions, text);
    found += expected.stop ? 1 : 0;
    const auto stops = expressions_of(expressions);
    for (std::size_t piece = 1; piece <= 12; piece += 1 + random() % 4) {
      const Found got = feed(StopMatcher(stops), text, piece);
      ASSERT_EQ(got.text, expected.text) << expressions[0] << " in " << text;
      ASSERT_EQ(got.stop, expected.stop) << expressions[0] << " in " << text;
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_LT(found, 300);
}

TEST(StopMatcher, strings_and_expressions_stand_side_by_side) {
  const auto stops = expressions_of({"[0-9]+;", "(?m)^END"}, {"12", "stop"});
  EXPECT_EQ(stops->text(2), "[0-9]+;");
  for (std::size_t piece = 1; piece < 9; ++piece) {
    EXPECT_EQ(feed(StopMatcher(stops), "a 12;", piece).stop, 0);
    EXPECT_EQ(feed(StopMatcher(stops), "a 3; 12", piece).stop, 2);
    const Found number = feed(StopMatcher(stops), "a 345;", piece);
    EXPECT_EQ(number.stop, 2);
    EXPECT_EQ(number.text, "a ");
    const Found line = feed(StopMatcher(stops, StopTrim::kKeep), "no END\nEND of it", piece);
    EXPECT_EQ(line.stop, 3);
    EXPECT_EQ(line.text, "no END\nEND");
    EXPECT_EQ(feed(StopMatcher(stops), "3 st 45", piece).text, "3 st 45");
  }
}

TEST(StopMatcher, what_may_become_a_match_is_held_back_and_no_more) {
  StopMatcher matcher(expressions_of({"<[a-z]+>"}));
  EXPECT_EQ(matcher.push("x <ab").text, "x ");
  EXPECT_TRUE(matcher.would_match("c>"));
  EXPECT_FALSE(matcher.would_match("c"));
  EXPECT_EQ(matcher.push("c d<").text, "<abc d");
  EXPECT_EQ(matcher.finish(), "<");
}

TEST(StopMatcher, of_a_match_without_bounds_the_last_few_thousand_bytes_are_held) {
  const auto stops = expressions_of({"é.*z"});
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "é";
  text += "z";
  const Found whole = feed(StopMatcher(stops), text, text.size());
  EXPECT_EQ(whole.stop, 0);
  EXPECT_GT(whole.text.size(), 1800U);
  EXPECT_LT(whole.text.size(), 2000U);
  EXPECT_EQ(whole.text.size() % 2, 0U) << "no half character";
  for (const std::size_t piece : {2, 34, 1000}) {
    const Found pieces = feed(StopMatcher(stops), text, piece);
    EXPECT_EQ(pieces.stop, 0);
    EXPECT_EQ(pieces.text, whole.text);
  }
}

// Wherever in a character the bytes begin that are held.
TEST(StopMatcher, a_match_that_is_too_long_is_cut_between_characters) {
  for (const std::string end : {"z", "yz", "xyz"}) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += "\u20AC";
    const Found found = feed(StopMatcher(expressions_of({"\u20AC.*z"})), text + end, 100);
    EXPECT_EQ(found.stop, 0);
    EXPECT_GT(found.text.size(), 1800U);
    EXPECT_LT(found.text.size(), text.size());
    EXPECT_EQ(found.text.size() % 3, 0U) << end;
  }
}

TEST(StopMatcher, expressions_that_cannot_be_used_are_refused_with_the_reason) {
  const auto refusal = [](const std::string& expression) {
    const auto compiled = StopExpressions::compile(std::vector<std::string>{"fine", expression});
    return compiled ? "none" : compiled.refusal().message;
  };
  EXPECT_EQ(refusal("(a"), "the expression \"(a\" cannot be read: unclosed group");
  EXPECT_EQ(refusal("a*"),
            "the expression \"a*\" matches the empty text, so every answer would end before it "
            "begins");
  EXPECT_EQ(refusal("a$"), "none");
  EXPECT_NE(refusal("$").find("matches the empty text"), std::string::npos);
  EXPECT_EQ(refusal("\\bx\\b"), "none");
  EXPECT_EQ(refusal("(?=a)b"),
            "the expression \"(?=a)b\" cannot be read: look-around, including look-ahead and "
            "look-behind, is not supported");
  EXPECT_EQ(refusal("(?:a{1000}){1000}"), "the expression \"(?:a{1000}){1000}\" is too large");
  EXPECT_EQ(refusal("a{1500}"), "none");
  EXPECT_EQ(refusal("a{2500}"), "the expression \"a{2500}\" is too large");
  EXPECT_NE(refusal(std::string(200, '(') + "a" + std::string(200, ')')).find("nested more than"),
            std::string::npos);
  EXPECT_EQ(refusal(R"(\w+\s\d+:)"), "none");
  const auto many = StopExpressions::compile(std::vector<std::string>(3, "[a-z]{900}"));
  EXPECT_EQ(many.refusal().message,
            "the expressions are too large: they have more than 2048 states together");
}

}  // namespace
}  // namespace foretoken
