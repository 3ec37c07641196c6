#include "text/dialogue/python_literal.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using Cases = std::vector<std::pair<std::string, std::string>>;

void expect_json(const Cases& cases) {
  for (const auto& [python, json] : cases) EXPECT_EQ(json_of_python(python), json) << python;
}

void expect_none(const std::vector<std::string>& cases) {
  for (const std::string& python : cases) EXPECT_EQ(json_of_python(python), std::nullopt) << python;
}

TEST(PythonLiteral, words_are_those_of_either_language) {
  expect_json({{"True", "true"},
               {"true", "true"},
               {"False", "false"},
               {"false", "false"},
               {" None ", "null"},
               {"null", "null"}});
  expect_none({"", " ", "TRUE", "none", "x", "f()", "1 2", "True False"});
}

TEST(PythonLiteral, numbers_of_python_become_those_of_json) {
  expect_json({{"0", "0"},
               {"-7", "-7"},
               {"+1", "1"},
               {"1.", "1.0"},
               {".5", "0.5"},
               {"-.5", "-0.5"},
               {"1.e5", "1.0e5"},
               {"1_000", "1000"},
               {"1_0.2_5", "10.25"},
               {"2e-3", "2e-3"}});
  expect_none({"+", "-", ".e", "_1", "1+2", "++1", "1j", "0x10", "1..2", "01"});
}

TEST(PythonLiteral, lists_and_dictionaries_may_end_in_a_comma) {
  expect_json({{"[]", "[]"},
               {"()", "[]"},
               {"{}", "{}"},
               {"[1, 'a' , None,]", "[1, \"a\", null]"},
               {"(1,)", "[1]"},
               {"{'a': [1], \"b\": (2, 3),}", "{\"a\": [1], \"b\": [2, 3]}"}});
  expect_none({"[", "[1", "[1)", "[,]", "[1,,]", "{'a'}", "{'a' 1}", "{1: 2}", "{'a': 1", "{,}"});
}

TEST(PythonLiteral, is_no_deeper_than_64) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(json_of_python(nested(65)), nested(65));
  EXPECT_EQ(json_of_python(nested(66)), std::nullopt);
}

TEST(PythonLiteral, strings_side_by_side_are_one_and_escapes_are_read) {
  expect_json({{"''", "\"\""},
               {"'a\"b'", R"("a\"b")"},
               {"\"it's\"", "\"it's\""},
               {"'a' \"b\"\n'c'", "\"abc\""},
               {R"('\n\r\t\b\f\'\"\\')", R"("\n\r\t\u0008\u000c'\"\\")"},
               {"'a\\\nb'", "\"ab\""},
               {R"('\q')", R"("\\q")"},
               {R"('\x41\x4a\u0041\U0001F600')", "\"AJA\xF0\x9F\x98\x80\""}});
  expect_none({"'", "'a", "'a\"", "'\\", R"('\x4')", R"('\xg0')", R"('\u12')", R"('\U0000004')"});
}

TEST(PythonLiteral, codes_become_utf_8_up_to_the_ends_of_each_length) {
  expect_json({{R"('\x7f')", "\"\x7F\""},
               {R"('\x80')", "\"\xC2\x80\""},
               {R"('\u07ff')", "\"\xDF\xBF\""},
               {R"('\u0800')", "\"\xE0\xA0\x80\""},
               {R"('\ud7ff')", "\"\xED\x9F\xBF\""},
               {R"('\ue000')", "\"\xEE\x80\x80\""},
               {R"('\uffff')", "\"\xEF\xBF\xBF\""},
               {R"('\U00010000')", "\"\xF0\x90\x80\x80\""},
               {R"('\U0010ffff')", "\"\xF4\x8F\xBF\xBF\""}});
  expect_none({R"('\U00110000')", R"('\ud800')", R"('\udfff')"});
}

TEST(PythonLiteral, halves_of_a_character_come_in_pairs) {
  expect_json({{R"('\ud800\udc00')", "\"\xF0\x90\x80\x80\""},
               {R"('\uD83D\uDE00')", "\"\xF0\x9F\x98\x80\""},
               {R"('\udbff\udfff')", "\"\xF4\x8F\xBF\xBF\""}});
  expect_none({R"('\ud800\udbff')", R"('\ud800\ue000')", R"('\ud800\u12')", R"('\udc00\ud800')",
               R"('\ud800x')"});
}

}  // namespace
}  // namespace foretoken
