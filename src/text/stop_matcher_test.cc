#include "text/stop_matcher.h"

#include <random>

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

}  // namespace
}  // namespace foretoken
