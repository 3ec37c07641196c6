// Structural tags and special tokens.

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "text/testing/grammar_fixture.h"

namespace foretoken {
namespace {

TEST_F(GrammarTest, structural_tags_bind_after_their_triggers_only) {
  const auto grammar =
      compile(Kind::kStructuralTag,
              R"({"structures":[{"begin":"<f=a>","schema":{"type":"integer"},"end":"</f>"},)"
              R"({"begin":"<f=b>","schema":{"type":"boolean"},"end":"</f>"}],"triggers":["<f="]})");
  EXPECT_EQ(verdict(*grammar, ""), 'a');
  EXPECT_EQ(verdict(*grammar, "no tag, 1 < 2 <f"), 'a');
  EXPECT_EQ(verdict(*grammar, "see <f="), '-');
  EXPECT_EQ(verdict(*grammar, "see <f=a>12</f> and <f=b>true</f> done"), 'a');
  EXPECT_EQ(verdict(*grammar, "see <f=a>t"), 'x');
  EXPECT_EQ(verdict(*grammar, "see <f=c"), 'x');
}

TEST_F(GrammarTest, structural_tags_of_the_newer_form) {
  const auto triggered = compile(
      Kind::kStructuralTag,
      R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],)"
      R"("tags":[{"type":"tag","begin":"<x>","content":{"type":"regex","pattern":"[0-9]+"},)"
      R"("end":"</x>"}],"at_least_one":true}})");
  EXPECT_EQ(verdict(*triggered, "hello"), '-');
  EXPECT_EQ(verdict(*triggered, "hello <x>12</x> bye"), 'a');
  EXPECT_EQ(verdict(*triggered, "hello <y"), 'x');
  const auto thinking =
      compile(Kind::kStructuralTag,
              R"({"format":{"type":"sequence","elements":[{"type":"tag","begin":"<t>",)"
              R"("content":{"type":"any_text"},"end":"</t>"},{"type":"or","elements":)"
              R"([{"type":"json_schema","json_schema":{"type":"null"}},)"
              R"({"type":"const_string","value":"no"}]}]}})");
  EXPECT_EQ(verdict(*thinking, "<t>I th</ink</t>"), '-');
  EXPECT_EQ(verdict(*thinking, "<t>I think</t>null"), 'e');
  EXPECT_EQ(verdict(*thinking, "<t></t>no"), 'e');
  EXPECT_EQ(verdict(*thinking, "<t></t>x"), 'x');
  const auto inside = compile(
      Kind::kStructuralTag,
      R"({"format":{"type":"tag","begin":"[","content":{"type":"triggered_tags","triggers":)"
      R"(["<a","<b"],"tags":[{"begin":"<a>","content":{"type":"regex","pattern":"1+"},)"
      R"("end":"</a>"},{"begin":"<b>","content":{"type":"any_text"},"end":"</b>"}]},"end":"]"}})");
  EXPECT_EQ(verdict(*inside, "[x < <a>11</a> y <b>z] <a></b>t]"), 'e');
  EXPECT_EQ(verdict(*inside, "[<]"), 'e');
  EXPECT_EQ(verdict(*inside, "[<a>]"), 'x');
  EXPECT_EQ(verdict(*inside, "[<b>]"), '-');
}

TEST_F(GrammarTest, formats_may_be_left_out_and_repeated) {
  const auto times = [&](const std::string& kind) {
    return compile(
        Kind::kStructuralTag,
        R"({"format":{"type":"sequence","elements":[{"type":"const_string","value":"["},{"type":")" +
            kind +
            R"(","content":{"type":"tag","begin":"<","content":{"type":"any_text"},"end":">"}},)"
            R"({"type":"const_string","value":"]"}]}})");
  };
  for (const auto& [kind, verdicts] : std::vector<std::pair<std::string, std::string>>{
           {"optional", "eex"}, {"star", "eee"}, {"plus", "xee"}}) {
    const auto grammar = times(kind);
    EXPECT_EQ(verdict(*grammar, "[]"), verdicts[0]) << kind;
    EXPECT_EQ(verdict(*grammar, "[<a[b]>]"), verdicts[1]) << kind;
    EXPECT_EQ(verdict(*grammar, "[<a><><b]>]"), verdicts[2]) << kind;
  }
  EXPECT_NE(
      refusal(Kind::kStructuralTag, R"({"format":{"type":"star","content":{"type":"any_text"}}})")
          .find("free text cannot be repeated"),
      std::string::npos);
  EXPECT_NE(refusal(Kind::kStructuralTag, R"({"format":{"type":"plus"}})").find("content"),
            std::string::npos);
}

TEST_F(GrammarTest, structural_tags_with_several_triggers) {
  const auto grammar =
      compile(Kind::kStructuralTag,
              R"({"structures":[{"begin":"<f=","schema":{"type":"integer"},"end":">"},)"
              R"({"begin":"<g=","schema":{"type":"boolean"},"end":">"}],"triggers":["<f=","<g"]})");
  EXPECT_EQ(verdict(*grammar, "x <f=3> <g=true> <h <f"), 'a');
  EXPECT_EQ(verdict(*grammar, "x <g=3"), 'x');
}

TEST_F(GrammarTest, special_tokens_in_tags_stand_for_themselves) {
  const auto grammar =
      compile(Kind::kStructuralTag,
              R"({"structures":[{"begin":"<|bos|>x","schema":{"const":1},"end":"<|eos|>"}],)"
              R"("triggers":["<|bos|>"]})");
  GrammarMatcher matcher = grammar->start();
  EXPECT_TRUE(matcher.advance(byte_token('<')));
  EXPECT_TRUE(matcher.allows(*tokenizer_->bos()));
  EXPECT_FALSE(matcher.allows(*tokenizer_->eos()));
  ASSERT_TRUE(matcher.advance(*tokenizer_->bos())) << matcher.fault();
  EXPECT_EQ(allowed(matcher), std::vector<Token>{byte_token('x')});
  EXPECT_FALSE(matcher.may_end());
  ASSERT_TRUE(matcher.advance(byte_token('x')));
  ASSERT_TRUE(matcher.advance(byte_token('1')));
  EXPECT_EQ(allowed(matcher).back(), *tokenizer_->eos());
  ASSERT_TRUE(matcher.advance(*tokenizer_->eos())) << matcher.fault();
  EXPECT_TRUE(matcher.may_end());
}

TEST_F(GrammarTest, special_tokens_are_no_text) {
  const auto grammar = compile(Kind::kRegex, "(?s:.)*");
  GrammarMatcher matcher = grammar->start();
  const auto tokens = allowed(matcher);
  EXPECT_FALSE(std::ranges::binary_search(tokens, *tokenizer_->bos()));
  EXPECT_FALSE(std::ranges::binary_search(tokens, *tokenizer_->eos()));
  EXPECT_FALSE(matcher.allows(*tokenizer_->eos()));
  EXPECT_TRUE(matcher.may_end());
}

}  // namespace
}  // namespace foretoken
