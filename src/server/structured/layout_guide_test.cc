#include "server/structured/layout_guide.h"

#include <vector>

#include <gtest/gtest.h>

#include "server/structured/grammar_constraint.h"
#include "server/testing/byte_tokenizer.h"
#include "text/grammar_cache.h"

namespace foretoken {
namespace {

class LayoutGuideTest : public testing::Test {
 protected:
  std::shared_ptr<const Grammar> grammar(bool is_compact) {
    GrammarSpec spec{GrammarSpec::Kind::kJsonSchema,
                     R"({"type":"object","properties":{"a":{"type":"string"},"long name":)"
                     R"({"const":"two  words"},"b":{"type":"array","items":{"type":"integer"}}},)"
                     R"("required":["a","long name","b"],"additionalProperties":false})",
                     {}};
    spec.layout.is_compact = is_compact;
    auto made = cache_.compile(spec);
    EXPECT_TRUE(made);
    return *made;
  }
  std::string forced_behind(std::string_view text) {
    LayoutGuide guide(*grammar(true), tokenizer_);
    const auto tokens = tokenizer_.encode(text, AddSpecial::kNo);
    EXPECT_TRUE(tokens);
    for (const Token token : *tokens)
      if (!guide.follow(token)) return "lost";
    return guide.forced();
  }

  const ByteTokenizerFolder folder_{
      {.merges = {{"\"", ","}, {"\",", "Ċ"}, {"Ġ", "Ġ"}, {"Ġ", "\""}, {":", "\""}}}};
  const Tokenizer tokenizer_{folder_.path()};
  GrammarCache cache_{tokenizer_};
};

TEST_F(LayoutGuideTest, follows_every_layout) {
  const std::string behind_a = R"("long name": "two  words", "b": [)";
  EXPECT_EQ(forced_behind(R"({"a": "x", )"), behind_a);
  for (const char* text : {R"({"a":"x",)", "{\"a\"   :   \"x\"  ,", "{\n  \"a\": \"x\",\n",
                           "  {\n\n\t\"a\"\n:\n\"x\"\n,", "{ \"a\" : \"x\","})
    EXPECT_EQ(forced_behind(text), " " + behind_a) << text;
  EXPECT_EQ(forced_behind("{\"a\": \"x\",\n  \""), behind_a.substr(1));
  EXPECT_EQ(forced_behind("{\"a\": \"x  y\",\n  \"long name\":\n  \"two  "), R"(words", "b": [)");
  EXPECT_EQ(forced_behind("{\"a\":\"x\",\"long name\":\"two  words\",\"b\":[ 1 ,\n 2\n]"), "}");
}

TEST_F(LayoutGuideTest, other_texts_lose_it) {
  EXPECT_EQ(forced_behind(R"({"b)"), "lost");
  EXPECT_EQ(forced_behind(R"({"a": "x", "long_)"), "lost");
}

TEST_F(LayoutGuideTest, what_is_written_of_the_usual_layout) {
  EXPECT_EQ(written_of(R"(, "b": )", ","), 1U);
  EXPECT_EQ(written_of(R"(, "b": )", ", \"b"), 4U);
  EXPECT_EQ(written_of(R"(, "b": )", ",\n  \"b"), 4U);
  EXPECT_EQ(written_of(R"(, "b": )", ",\"b\":"), 6U);
  EXPECT_EQ(written_of(R"(, "b": )", " \n "), 0U);
  EXPECT_EQ(written_of(R"( "b": )", "\n"), 0U);
  EXPECT_EQ(written_of(R"( "b": )", "   "), 1U);
  EXPECT_EQ(written_of(R"(, "b": )", ", \"c"), std::nullopt);
  EXPECT_EQ(written_of("}", "}}"), std::nullopt);
  EXPECT_EQ(written_of("", "\n"), 0U);
  EXPECT_EQ(written_of("", "x"), std::nullopt);
}

// A model's own layout is foreseen from the second time on.
TEST_F(LayoutGuideTest, the_layout_is_remembered) {
  const auto parts =
      std::make_shared<const GrammarParts>(GrammarParts{.grammar = grammar(false),
                                                        .guide = grammar(true),
                                                        .tokenizer = tokenizer_,
                                                        .stops = {},
                                                        .cuts = std::make_shared<CutMemory>()});
  const auto write = [&](GrammarConstraint& constraint, std::string_view text) {
    const auto tokens = tokenizer_.encode(text, AddSpecial::kNo);
    for (const Token token : *tokens) {
      ASSERT_TRUE(constraint.allows(token)) << text;
      constraint.advance(token);
      constraint.foreseen();
    }
  };
  const auto text_of = [&](const std::vector<Token>& tokens) {
    std::string text;
    for (const Token token : tokens) text += tokenizer_.piece(token);
    return text;
  };
  GrammarConstraint first(parts);
  EXPECT_EQ(text_of(first.foreseen()), R"({"a": ")");
  write(first, "{\n\t\"a\": \"x\",\n");
  EXPECT_EQ(text_of(first.foreseen()), R"( "long name": "two  words", "b": [)");
  write(first, "  \"long name\" : \"two  words\",\n");
  EXPECT_EQ(text_of(first.foreseen()), R"( "b": [)");
  write(first, "  \"b\" : [1]\n}");
  GrammarConstraint second(parts);
  EXPECT_EQ(text_of(second.foreseen()), "{\n\t\"a\": \"");
  write(second, "{\n\t\"a\": \"y\",\n");
  EXPECT_EQ(text_of(second.foreseen()).substr(0, 28), "  \"long name\" : \"two  words\"");
}

}  // namespace
}  // namespace foretoken
