// What is refused: wrong sources, sources that are too large or take too long.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "text/grammar_cache.h"
#include "text/testing/grammar_fixture.h"

namespace foretoken {
namespace {

// One text fills the lexer that all share with states until it gives up.
TEST_F(GrammarTest, a_text_that_is_too_complex_ends_no_other) {
  GrammarCache cache(*tokenizer_);
  const GrammarSpec spec{Kind::kRegex, "x(.*[ab].{40}[0-9])|y(hello)*[0-9]", {}};
  const auto found = cache.compile(spec);
  ASSERT_TRUE(found);
  const std::shared_ptr<const Grammar> grammar = *found;
  GrammarMatcher other = grammar->start();
  for (const char byte : std::string_view("yhell")) ASSERT_TRUE(other.advance(byte_token(byte)));
  ASSERT_TRUE(other.roll_back(1)) << other.fault();
  EXPECT_EQ(*cache.compile(spec), grammar);
  std::mt19937 random(4);
  std::vector<std::uint32_t> words(vocabulary_->mask_words());
  GrammarMatcher hungry = grammar->start();
  ASSERT_TRUE(hungry.advance(byte_token('x')));
  for (int i = 0; i < 30'000 && hungry.fault().empty(); ++i)
    if (hungry.mask(words)) hungry.advance(byte_token(random() % 2 == 0 ? 'a' : 'c'));
  EXPECT_NE(hungry.fault().find("too complex"), std::string::npos) << hungry.fault();
  EXPECT_TRUE(grammar->is_spoiled());
  EXPECT_NE(*cache.compile(spec), grammar) << "compiled anew for texts to come";
  EXPECT_TRUE(other.allows(byte_token('l'))) << other.fault();
  ASSERT_TRUE(other.advance(byte_token('l'))) << other.fault();
  ASSERT_TRUE(other.roll_back(1)) << other.fault();
  ASSERT_TRUE(other.advance(byte_token('l'))) << other.fault();
  ASSERT_TRUE(other.advance(byte_token('o'))) << other.fault();
  EXPECT_FALSE(other.may_end());
  const auto tokens = allowed(other);
  EXPECT_TRUE(std::ranges::binary_search(tokens, byte_token('h')));
  EXPECT_TRUE(std::ranges::binary_search(tokens, byte_token('7')));
  EXPECT_FALSE(std::ranges::binary_search(tokens, byte_token('e')));
}

TEST_F(GrammarTest, what_is_wrong_is_told_with_its_place) {
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  };
  has(refusal(Kind::kJsonSchema, "{"), "it is not JSON");
  has(refusal(Kind::kJsonSchema, "3"), "a schema must be an object or a boolean");
  has(refusal(Kind::kJsonSchema, "false"), "allows no value");
  has(refusal(Kind::kJsonSchema, R"({"properties":{"a/b":{"not":{}}}})"),
      "\"not\" is not supported (at /properties/a~1b)");
  has(refusal(Kind::kJsonSchema, R"({"items":{"anyOf":[{},{"uniqueItems":true}]}})"),
      "\"uniqueItems\" is not supported (at /items/anyOf/1)");
  has(refusal(Kind::kJsonSchema, R"({"properties":{"a":{"type":"string","format":"zip"}}})"),
      "Unknown format: zip (at /properties/a)");
  has(refusal(Kind::kJsonSchema,
              R"({"$defs":{"x":{"oneOf":[{"minimum":1},{"maximum":2}]}},"$ref":"#/$defs/x"})"),
      "(at /$defs/x)");
  has(refusal(Kind::kJsonSchema, R"({"$ref":"http://localhost/x"})"), "leads out of the schema");
  has(refusal(Kind::kJsonSchema, R"({"$ref":"#/$defs/nothing"})"), "/$defs/nothing");
  has(refusal(Kind::kJsonSchema, R"({"type":"strin"})"), "strin");
  has(refusal(Kind::kJsonSchema, R"({"x-guidance":{}})"), "x-guidance");
  has(refusal(Kind::kJsonSchema, R"({"$ref":"#/parts/a~1%62","parts":{"a/b":{"not":{}}}})"),
      "\"not\" is not supported (at /parts/a~1b)");
  has(refusal(Kind::kJsonSchema, R"({"enum":[[1,9007199254740993]]})"),
      "9007199254740993 of \"enum\" has too many digits");
  has(refusal(Kind::kJsonSchema, R"({"type":"string","pattern":"^a(x|y\\x01)$"})"),
      "\"pattern\" with control characters is not supported");
  has(refusal(Kind::kJsonSchema, R"({"const":{"a":["\u0000"]}})"), "with control characters");
  has(refusal(Kind::kJsonSchema, R"({"properties":{"a":{"minProperties":2}}})"),
      "minProperties\" is supported up to one more");
  has(refusal(Kind::kRegex, "a(b"), "unclosed group");
  has(refusal(Kind::kRegex, "a(?=b)"), "look-around");
  has(refusal(Kind::kRegex, ""), "no text but the empty one");
  has(refusal(Kind::kEbnf, "root ::= \"a"), "does not end in line 1");
  has(refusal(Kind::kEbnf, "root ::= a\nb ::= \"x\""), "the rule a is not defined (line 1)");
  has(refusal(Kind::kEbnf, "a ::= \"x\""), "no rule \"root\"");
  has(refusal(Kind::kEbnf, "root ::= \"a\" )"), "unexpected ')' in line 1");
  has(refusal(Kind::kEbnf, "start: nothing"), "nothing");
  has(refusal(Kind::kEbnf, "start: start"), "");
  has(refusal(Kind::kChoice, "[]"), "no list of texts");
  has(refusal(Kind::kChoice, "[\"a\", 3]"), "item 1 is no text");
  has(refusal(Kind::kStructuralTag, "{}"), "neither");
  has(refusal(Kind::kStructuralTag, R"({"structures":[],"triggers":["x"]})"), "no tag begins with");
  has(refusal(Kind::kStructuralTag, R"({"format":{"type":"any_token"}})"),
      "\"any_token\" is not supported (at /format)");
  has(refusal(Kind::kStructuralTag,
              R"({"structures":[{"begin":"<a>","schema":{"not":{}},"end":""}],"triggers":["<"]})"),
      "(at /structures/0/schema)");
}

// Each of these would be a stack overflow, an endless loop or gigabytes somewhere.
TEST_F(GrammarTest, what_is_too_much_is_refused) {
  const std::string deep(100'000, '('), schema_end(300, '}');
  EXPECT_NE(refusal(Kind::kRegex, deep), "none");
  EXPECT_NE(refusal(Kind::kEbnf, "start: " + deep), "none");
  EXPECT_NE(refusal(Kind::kEbnf, "root ::= " + deep), "none");
  std::string schema;
  for (int i = 0; i < 300; ++i) schema += R"({"items":)";
  EXPECT_NE(refusal(Kind::kJsonSchema, schema + "{}" + schema_end), "none");
  std::string lists(200'000, '[');
  EXPECT_NE(refusal(Kind::kChoice, lists), "none");
  EXPECT_NE(refusal(Kind::kStructuralTag, lists), "none");
  EXPECT_NE(refusal(Kind::kRegex, "((a{1000}){1000}b{1000}){1000}"), "");
  EXPECT_NE(refusal(Kind::kRegex, std::string(1 << 20, 'a')), "none");
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 20'000; ++i)
    chain += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + "\n";
  EXPECT_NE(refusal(Kind::kEbnf, chain + "r20000 ::= \"b\""), "none");
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 40; ++i)
    doubling += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" +
                std::to_string(i + 1) + "\n";
  EXPECT_NE(refusal(Kind::kEbnf, doubling + "r40 ::= [a-z]"), "none");
}

// What takes minutes is known by its numbers or ended by the clock.
TEST_F(GrammarTest, what_takes_too_long_is_refused) {
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  };
  has(refusal(Kind::kJsonSchema, R"({"items":{"type":"integer","multipleOf":99999989}})"),
      "too many common remainders (found 99999989) (at /items)");
  has(refusal(Kind::kJsonSchema, R"({"allOf":[{"multipleOf":101},{"multipleOf":10.3},)"
                                 R"({"multipleOf":0.07}]})"),
      "(found 0.07) (at /allOf/2)");
  EXPECT_EQ(refusal(Kind::kJsonSchema, R"({"allOf":[{"multipleOf":0.01},{"multipleOf":1000},)"
                                       R"({"multipleOf":2.5}],"type":"number"})"),
            "none");
  std::string names, patterns;
  for (int i = 0; i < 2001; ++i) names += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + "\":{}";
  for (int i = 0; i < 33; ++i)
    patterns += (i > 0 ? ",\"^" : "\"^") + std::to_string(i) + "x.*y$\":{}";
  has(refusal(Kind::kJsonSchema, R"({"properties":{)" + names + "}}"),
      "\"properties\" has more than 2000 entries (found 2001)");
  has(refusal(Kind::kJsonSchema, R"({"patternProperties":{)" + patterns + "}}"),
      "\"patternProperties\" has more than 32 entries (found 33)");
  // Objects whose names are compared with all others, in all combinations.
  std::string part;
  for (int i = 0; i < 16; ++i) {
    part += i > 0 ? "," : "";
    part += R"({"type":"object","patternProperties":{"^)" + std::to_string(i) +
            R"(x.*y.*z$":{},"^)" + std::to_string(i) + R"(y.*z.*x$":{}}})";
  }
  const std::string any = R"({"anyOf":[)" + part + "]}";
  const auto grammar = Grammar::compile(
      *vocabulary_, {Kind::kJsonSchema, R"({"allOf":[)" + any + "," + any + "," + any + "]}", {}},
      std::chrono::milliseconds(1));
  ASSERT_FALSE(grammar);
  has(grammar.refusal().message, "it takes more than 1 ms to compile");
  EXPECT_EQ(refusal(Kind::kJsonSchema, R"({"type":"null"})"), "none") << "others go on";
}

}  // namespace
}  // namespace foretoken
