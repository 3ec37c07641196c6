// What each kind of grammar means: JSON schemas, regular expressions, EBNF, Lark.

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "text/testing/grammar_fixture.h"

namespace foretoken {
namespace {

TEST_F(GrammarTest, json_of_a_schema_is_valid_and_ends) {
  std::mt19937 random(3);
  const auto grammar = compile(
      Kind::kJsonSchema, R"({"type":"object","properties":{"name":{"type":"string","maxLength":5},)"
                         R"("tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":2}},)"
                         R"("required":["name","tags"],"additionalProperties":false})");
  int ended = 0;
  for (int run = 0; run < 30; ++run) {
    const std::string text = random_text(*grammar, random);
    if (text.empty()) continue;
    ++ended;
    boost::system::error_code error;
    const auto value = boost::json::parse(text, error);
    ASSERT_FALSE(error) << text;
    EXPECT_TRUE(value.at("name").is_string()) << text;
    EXPECT_LE(value.at("tags").as_array().size(), 2U) << text;
  }
  EXPECT_GT(ended, 15);
}

// For each keyword what it takes and what it bars; whole texts are 'e' or 'a'.
TEST_F(GrammarTest, json_schemas_mean_what_they_say) {
  struct Case {
    const char* schema;
    std::vector<const char*> taken, barred;
  };
  const Case cases[] = {
      {R"({"type":["integer","null"]})", {"-12", "null"}, {"1.5", "\"1\"", "true", "01"}},
      {R"({"type":"integer","minimum":-2,"exclusiveMaximum":30})", {"-2", "29"}, {"-3", "30"}},
      {R"({"type":"number","exclusiveMinimum":0,"maximum":1.5})", {"0.1", "1.5"}, {"0", "1.51"}},
      {R"({"type":"integer","minimum":-9223372036854775807,"maximum":9223372036854775807})",
       {"9223372036854774784", "-9223372036854774784"},
       {"9223372036854775808", "-9223372036854775808"}},
      {R"({"type":"integer","multipleOf":7})", {"0", "-14", "21"}, {"20", "1"}},
      {R"({"type":"number","multipleOf":0.25})", {"0.75", "3"}, {"0.3"}},
      {R"({"const":{"a":[1,"x"]}})", {R"({"a": [1, "x"]})"}, {R"({"a": [1]})", R"({})"}},
      {R"({"enum":["a\"b",null,4]})", {R"("a\"b")", "null", "4"}, {R"("a")", "5"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {"\"\xC3\xA9x\"", R"("a\"b")"},
       {"\"\xC3\xA9\"", R"("\n")", "\"abcd\""}},
      {R"({"type":"string","pattern":"[0-9]x$"})", {"\"a7x\"", "\"7x\""}, {"\"7xy\"", "\"x\""}},
      {R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"boolean"}})",
       {"[]", "[1]", "[1, true]"},
       {"[true]", "[1, 2]"}},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"array",)"
       R"("items":[{"type":"integer"}],"additionalItems":false})",
       {"[]", "[1]"},
       {"[1, 2]", "[true]"}},
      {R"({"type":"array","minItems":1,"maxItems":2.0})", {"[1]", "[1, 2]"}, {"[]", "[1, 2, 3]"}},
      {R"({"type":"object","required":["b"],"maxProperties":1})",
       {R"({"b": 1})"},
       {"{}", R"({"b": 1, "c": 2})"}},
      {R"({"allOf":[{"minimum":3},{"maximum":5},{"type":"integer"}]})", {"3", "5"}, {"2", "6"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"7", "\"a\""},
       {"\"ab\"", "null"}},
      {R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", {"7", "\"a\""}, {"null"}},
      {R"({"$ref":"#/$defs/a%20b","$defs":{"a b":{"type":"array","items":{"$ref":"#"}}}})",
       {"[]", "[[], [[]]]"},
       {"[1]", "{}"}},
      {R"({"$ref":"#here","$defs":{"x":{"$anchor":"here","type":"null"}}})", {"null"}, {"1"}},
      {R"({"type":"string","format":"ipv4"})", {"\"10.0.0.1\""}, {"\"10.0.0.256\""}},
      // What helps a keyword that is not there, asks for nothing.
      {R"({"type":"null","then":false,"minContains":3,"additionalItems":false})", {"null"}, {}},
      // One way to write a name: else a property could be taken for another.
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":false}})",
       {R"({"a": 1, "x": {}})"},
       {R"({"\u0061": "x"})", R"({"a": 1, "\u0061": 2})", R"({"\u0062": 1})", R"({"b": 1})"}},
      {R"({"type":"object","patternProperties":{"^a":{"type":"integer"}}})",
       {R"({"ab": 1, "b": ""})"},
       {R"({"\u0061b": "x"})", R"({"ab": "x"})"}},
      // Two names are two names only where one of them cannot be written twice.
      {R"({"type":"object","required":["a"],"minProperties":2})",
       {R"({"a": 1, "b": 2})"},
       {R"({"a": 1})", R"({"a": 1, "a": 1})"}},
      // Keywords belong together across those between them.
      {R"({"type":"array","prefixItems":[{"type":"string"}],"additionalItems":false})",
       {"[]", "[\"a\", 1]"},
       {"[1]"}},
      {R"({"patternProperties":{"^a":{"type":"integer"}},"anyOf":[{"type":"object"}],)"
       R"("additionalProperties":false})",
       {R"({"ab": 1})"},
       {R"({"ab": "x"})", R"({"b": 1})"}},
      // There is no such day, and hardly ever such a second.
      {R"({"type":"string","format":"date"})",
       {"\"2024-02-29\"", "\"2000-02-29\"", "\"2023-02-28\"", "\"2023-12-31\""},
       {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-04-31\"", "\"0000-01-01\""}},
      {R"({"type":"string","format":"date-time"})",
       {"\"2024-02-29T23:59:59Z\"", "\"2023-01-30T00:00:00.5+01:00\""},
       {"\"2023-02-29T00:00:00Z\"", "\"2023-02-28T22:59:60Z\"", "\"2023-02-28\""}},
      {R"({"type":"string","format":"time"})", {"\"10:20:59Z\""}, {"\"10:20:60Z\"", "\"1:2:3Z\""}},
  };
  for (const auto& [schema, taken, barred] : cases) {
    const auto grammar = compile(Kind::kJsonSchema, schema);
    ASSERT_TRUE(grammar) << schema;
    for (const char* text : taken) {
      const char found = verdict(*grammar, text);
      EXPECT_TRUE(found == 'e' || found == 'a') << schema << " bars " << text;
    }
    for (const char* text : barred) {
      const char found = verdict(*grammar, text);
      EXPECT_TRUE(found == 'x' || found == '-') << schema << " takes " << text;
    }
  }
}

TEST_F(GrammarTest, the_layout_of_json_is_a_wish) {
  const std::string schema = R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}},)"
                             R"("required":["a","b"],"additionalProperties":false})";
  const auto any = compile(Kind::kJsonSchema, schema);
  EXPECT_EQ(verdict(*any, "{\n  \"a\" :1,\"b\":2 }"), 'e');
  EXPECT_EQ(verdict(*any, "{ "), '-');
  EXPECT_EQ(verdict(*any, "{  "), 'x') << "nobody ends otherwise";
  const auto compact = compile(Kind::kJsonSchema, schema, {.is_compact = true});
  EXPECT_EQ(verdict(*compact, R"({"a": 1, "b": 2})"), 'e');
  EXPECT_EQ(verdict(*compact, R"({"a":)"), '-');
  EXPECT_EQ(verdict(*compact, R"({"a":1)"), 'x');
  const auto pattern = compile(Kind::kJsonSchema, schema, {.whitespace_pattern = "_?"});
  EXPECT_EQ(verdict(*pattern, R"({_"a":_1,"b":2})"), 'e');
  EXPECT_EQ(verdict(*pattern, R"({ )"), 'x');
}

TEST_F(GrammarTest, a_regular_expression_describes_the_whole_text) {
  const auto grammar = compile(Kind::kRegex, "^a[bc]+/\\d$");
  EXPECT_EQ(verdict(*grammar, "abcb/7"), 'e');
  EXPECT_EQ(verdict(*grammar, "ab"), '-');
  EXPECT_EQ(verdict(*grammar, "xab"), 'x');
  const auto open = compile(Kind::kRegex, "a+");
  EXPECT_EQ(verdict(*open, "aaa"), 'a');
}

TEST_F(GrammarTest, ebnf_without_recursion_is_exact) {
  const auto grammar = compile(Kind::kEbnf, R"(
# a comment
root ::= greeting " "? [0-9]{2,} end   # another
greeting ::= "hello" | "hell" | ("good" " "){1,2}
end ::= [^a-z\n] | "\"\x41\u00e9")");
  EXPECT_EQ(verdict(*grammar, "hell12A"), 'e');
  EXPECT_EQ(verdict(*grammar, "good good  12345"), 'a') << "the last digit may be the end";
  EXPECT_EQ(verdict(*grammar, "hello12\"A\xC3\xA9"), 'e');
  EXPECT_EQ(verdict(*grammar, "hello1a"), 'x');
}

TEST_F(GrammarTest, ebnf_with_recursion) {
  const auto grammar = compile(Kind::kEbnf, R"(
root ::= value
value ::= "{" ws (pair (ws "," ws pair)*)? ws "}" | "[" (value ("," value)*)? "]" | text
pair ::= text ws ":" ws value
text ::= "\"" [a-z]* "\""
ws ::= [ \n]*)");
  EXPECT_EQ(verdict(*grammar, R"({ "a": ["b",{}], "c" :"" })"), 'e');
  EXPECT_EQ(verdict(*grammar, R"({ "a": [)"), '-');
  EXPECT_EQ(verdict(*grammar, R"({ "a" "b")"), 'x');
}

TEST_F(GrammarTest, lark_is_taken_as_it_is) {
  const auto grammar = compile(Kind::kEbnf, "start: \"a\" B* <|bos|>\nB: /[bc]/");
  GrammarMatcher matcher = grammar->start();
  EXPECT_TRUE(matcher.advance(byte_token('a')));
  EXPECT_TRUE(matcher.advance(byte_token('c')));
  const Token bos = *tokenizer_->bos();
  EXPECT_EQ(allowed(matcher), (std::vector<Token>{byte_token('b'), byte_token('c'), bos}));
  EXPECT_TRUE(matcher.allows(bos));
  EXPECT_TRUE(matcher.advance(bos)) << matcher.fault();
  EXPECT_TRUE(matcher.has_ended());
}

}  // namespace
}  // namespace foretoken
