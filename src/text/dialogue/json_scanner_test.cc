#include "text/dialogue/json_scanner.h"

#include <string>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using State = JsonScanner::State;

// Fed byte by byte and whole; "value|" and what follows it, "broken|" and what breaks it, or
// "more".
std::string scanned(const std::string& text) {
  const auto fed = [&](std::size_t piece) -> std::string {
    JsonScanner scanner;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t used = 0;
      const State state = scanner.feed(std::string_view(text).substr(at, piece), used);
      at += used;
      if (state == State::kDone) return "value|" + text.substr(at);
      if (state == State::kBroken) return "broken|" + text.substr(at);
    }
    return "more";
  };
  const std::string whole = fed(text.size());
  EXPECT_EQ(fed(1), whole) << text;
  return whole;
}

TEST(JsonScanner, ends_where_the_value_ends) {
  EXPECT_EQ(scanned(R"( {"a": [1, true, {}], "b": "}\""} more)"), "value| more");
  EXPECT_EQ(scanned("-1.5e+3, "), "value|, ");
  EXPECT_EQ(scanned("null]"), "value|]");
  EXPECT_EQ(scanned(R"("a\\" b)"), "value| b");
  EXPECT_EQ(scanned("[[1]"), "more");
  EXPECT_EQ(scanned("12"), "more") << "digits may follow";
}

TEST(JsonScanner, finds_the_first_byte_that_is_not_of_json) {
  EXPECT_EQ(scanned(R"({"a": 01})"), "broken|1}");
  EXPECT_EQ(scanned("[1,]"), "broken|]");
  EXPECT_EQ(scanned("[1}"), "broken|}");
  EXPECT_EQ(scanned("{'a'"), "broken|'a'");
  EXPECT_EQ(scanned("\"a\nb\""), "broken|\nb\"");
  EXPECT_EQ(scanned("truth"), "broken|th");
  EXPECT_EQ(scanned(R"("\x")"), "broken|x\"");
}

TEST(JsonScanner, a_code_of_a_character_has_four_digits) {
  EXPECT_EQ(scanned(R"("\u00e9" )"), "value| ");
  EXPECT_EQ(scanned(R"("\u00E90" )"), "value| ");
  EXPECT_EQ(scanned(R"("\u00e" )"), "broken|\" ");
  EXPECT_EQ(scanned(R"("\u00eg" )"), "broken|g\" ");
  EXPECT_EQ(scanned(R"("\u" )"), "broken|\" ");
}

TEST(JsonScanner, values_nest_64_deep) {
  EXPECT_EQ(scanned(std::string(64, '[') + std::string(64, ']')), "value|");
  EXPECT_EQ(scanned(std::string(65, '[')), "broken|[");
}

}  // namespace
}  // namespace foretoken
