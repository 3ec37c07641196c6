// White space in JSON: what indents it may come, what goes on for ever may not. And what may follow
// a text inside of its last token.

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "text/testing/grammar_fixture.h"

namespace foretoken {
namespace {

using Tail = GrammarSpec::Tail;

constexpr const char* kList =
    R"({"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},)"
    R"("b":{"type":"object"}},"required":["a","b"],"additionalProperties":false}})";

// A list of one object with an object in it, as json.dumps writes it with this indentation.
std::string indented(const std::string& by, const std::string& end = "\n") {
  const std::string two = by + by, three = two + by;
  return "[" + end + by + "{" + end + two + "\"a\": 1," + end + two + "\"b\": {" + end + three +
         "\"c  d\": null" + end + two + "}" + end + by + "}" + end + "]";
}

class GrammarLayoutTest : public GrammarTest {
 protected:
  std::shared_ptr<const Grammar> compiled(GrammarSpec spec) {
    auto grammar = Grammar::compile(*vocabulary_, spec);
    EXPECT_TRUE(grammar) << grammar.refusal().message;
    return *grammar;
  }
  // The bytes of the text that may be said.
  std::size_t said(const Grammar& grammar, const std::string& text) {
    GrammarMatcher matcher = grammar.start();
    for (std::size_t at = 0; at < text.size(); ++at) {
      const Token token = byte_token(text[at]);
      const auto tokens = allowed(matcher);
      const bool has_bit = std::find(tokens.begin(), tokens.end(), token) != tokens.end();
      EXPECT_EQ(matcher.allows(token), has_bit && !matcher.has_ended());
      for (const Token other : tokens) EXPECT_TRUE(matcher.allows(other)) << text.substr(0, at);
      if (matcher.has_ended() || !has_bit) return at;
      EXPECT_TRUE(matcher.advance(token));
    }
    return text.size();
  }
};

TEST_F(GrammarLayoutTest, usual_layouts_may_be_said) {
  const auto free = compile(Kind::kJsonSchema, kList);
  for (const std::string& text :
       {indented("  "), indented("    "), indented("\t"), indented("    ", "\r\n"), indented(""),
        std::string(R"([{"a":1,"b":{"c":[true,"x"]}}])"),
        std::string(R"([{"a": 1, "b": {"c": [true, "x   y"]}}, {"a": 2, "b": {}}])"),
        std::string(R"([ { "a" : 1 , "b" : { } } ])")})
    EXPECT_EQ(said(*free, text), text.size()) << text;
}

TEST_F(GrammarLayoutTest, white_space_has_no_more_than_a_line_break_and_the_indentation) {
  const auto free = compile(Kind::kJsonSchema, kList);
  for (const std::string text :
       {"[  ", "[\n\n", "[ \n", "[\n     ", "[\n\t\t", "[\n\t ", "[\r\r", "[\t", "[{\n         ",
        "[{\"a\":\n\n", "[{\"a\": 1  ", "[{\"a\"  "})
    EXPECT_EQ(said(*free, text), text.size() - 1) << text;
  const auto any = compile(Kind::kJsonSchema, R"({"type":"object"})");
  const std::string deep = "{\"a\": \"  \\n \\\"  {\", \"b\": [\n        1";
  EXPECT_EQ(said(*any, deep), deep.size());
  const std::string texts = "{\"a\": \"{[{[\",\n     ";
  EXPECT_EQ(said(*any, texts), texts.size() - 1) << "brackets in a text count for nothing";
}

// Of balanced tags the depth is known; of others white space has a bound of its own.
TEST_F(GrammarLayoutTest, json_in_tags_is_laid_out_so_too) {
  const std::string tag =
      R"({"format":{"type":"tag","begin":"<t>","content":{"type":"json_schema",)"
      R"("json_schema":)" +
      std::string(kList) + R"(},"end":"</t>"}})";
  for (const bool is_balanced : {false, true}) {
    const auto grammar = compiled({.kind = Kind::kStructuralTag,
                                   .source = tag,
                                   .layout = {},
                                   .tail = Tail::kNone,
                                   .is_balanced = is_balanced});
    for (const std::string by : {"  ", "    ", "\t"}) {
      const std::string text = "<t>" + indented(by) + "</t>";
      EXPECT_EQ(said(*grammar, text), text.size()) << text;
    }
    EXPECT_EQ(said(*grammar, "<t>[\n\n"), 5U);
    EXPECT_EQ(said(*grammar, "<t>[\n" + std::string(30, ' ')), is_balanced ? 9U : 25U);
  }
}

TEST_F(GrammarLayoutTest, a_token_may_end_json_and_hold_white_space_behind_it) {
  GrammarSpec spec{.kind = Kind::kJsonSchema, .source = kList, .layout = {}, .tail = Tail::kWhite};
  for (const std::string text : {"[]", "[]\n\n", "[]  \n"}) {
    GrammarMatcher matcher = compiled(spec)->start();
    EXPECT_TRUE(matcher.advance_text("["));
    EXPECT_FALSE(matcher.has_ended());
    EXPECT_FALSE(matcher.advance_text("]x"));
    EXPECT_TRUE(matcher.advance_text(text.substr(1))) << text;
    EXPECT_TRUE(matcher.has_ended());
    EXPECT_TRUE(matcher.may_end());
    EXPECT_EQ(matcher.count_allowed(std::vector<Token>{byte_token(' ')}), 0);
  }
  for (const auto& [source, text, ended] : std::vector<std::tuple<std::string, std::string, bool>>{
           {R"({"type":"integer"})", "12", false},
           {R"({"type":"integer"})", "12\n", true},
           {R"({"const":12})", "12", true},
           {R"({"type":"string"})", "\"a\"", true},
           {R"({"type":"boolean"})", "true", true}}) {
    spec.source = source;
    GrammarMatcher matcher = compiled(spec)->start();
    EXPECT_TRUE(matcher.advance_text(text)) << text;
    EXPECT_EQ(matcher.has_ended(), ended) << text;
  }
}

TEST_F(GrammarLayoutTest, a_token_may_end_a_tag_and_hold_anything_behind_it) {
  const auto grammar =
      compiled({.kind = Kind::kStructuralTag,
                .source = R"({"format":{"type":"tag","begin":"<","content":{"type":"json_schema",)"
                          R"("json_schema":{"type":"integer"}},"end":">>"}})",
                .layout = {},
                .tail = Tail::kAny});
  for (const std::string behind : {"", ">", "\n<tag>", "é"}) {
    GrammarMatcher matcher = grammar->start();
    EXPECT_TRUE(matcher.advance_text("<12"));
    EXPECT_EQ(matcher.beyond(), 0U);
    EXPECT_TRUE(matcher.advance_text(">>" + behind)) << behind;
    EXPECT_TRUE(matcher.has_ended());
    EXPECT_EQ(matcher.beyond(), behind.size());
  }
  GrammarMatcher matcher = grammar->start();
  EXPECT_FALSE(matcher.advance_text("<12> >"));
  EXPECT_TRUE(matcher.advance_text("<1"));
  EXPECT_TRUE(matcher.advance(byte_token('>')));
  EXPECT_TRUE(matcher.advance(byte_token('>')));
  EXPECT_TRUE(matcher.has_ended());
  EXPECT_TRUE(matcher.roll_back(1));
  EXPECT_FALSE(matcher.has_ended());
}

}  // namespace
}  // namespace foretoken
