// What matchers answer: masks, single tokens, forced bytes; vocabularies and the cache.

#include "text/grammar.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/grammar_cache.h"
#include "text/testing/grammar_fixture.h"

namespace foretoken {
namespace {

TEST_F(GrammarTest, the_mask_holds_what_begins_a_text_of_the_grammar) {
  const std::vector<std::string> texts = {"hello", "hello w", "help", "x"};
  const auto grammar = compile(Kind::kChoice, R"(["hello", "hello w", "help", "x"])");
  const auto fits = [&](const std::string& begin) {
    return std::ranges::any_of(texts, [&](const auto& text) { return text.starts_with(begin); });
  };
  // All ways to cut them into tokens.
  std::set<std::string> ended;
  const auto visit = [&](const auto& self, const GrammarMatcher& at, const std::string& text) {
    GrammarMatcher here = at.fork();
    EXPECT_EQ(here.may_end(), std::ranges::find(texts, text) != texts.end()) << text;
    if (here.may_end()) ended.insert(text);
    std::vector<Token> expected;
    for (Token token = 0; token < tokenizer_->vocab_size(); ++token)
      if (!tokenizer_->is_special(token) && !tokenizer_->piece(token).empty() &&
          fits(text + std::string(tokenizer_->piece(token))))
        expected.push_back(token);
    EXPECT_EQ(allowed(here), expected) << text;
    EXPECT_EQ(here.has_ended(), expected.empty()) << text;
    for (const Token token : expected) {
      GrammarMatcher next = here.fork();
      ASSERT_TRUE(next.allows(token));
      ASSERT_TRUE(next.advance(token)) << next.fault();
      self(self, next, text + std::string(tokenizer_->piece(token)));
    }
  };
  visit(visit, grammar->start(), "");
  EXPECT_EQ(ended, std::set<std::string>(texts.begin(), texts.end()));
}

TEST_F(GrammarTest, a_single_token_is_judged_as_the_mask_does) {
  std::mt19937 random(1);
  for (const auto& [kind, source] : std::vector<std::pair<Kind, std::string>>{
           {Kind::kJsonSchema, R"({"type":"object","properties":{"a":{"type":"integer"},)"
                               R"("hello":{"enum":["hello","w"]}},"required":["a"]})"},
           {Kind::kRegex, "(hello|he l?lo)+[0-9]{2,3}|é*"},
           {Kind::kRegex, "x?.{0,3}([^a-h]*|hello)*[a-f0-9]{2}"},
           {Kind::kStructuralTag, R"({"structures":[{"begin":"<a>","schema":{"type":"integer"},)"
                                  R"("end":"</a>"}],"triggers":["<a"]})"},
           {Kind::kStructuralTag, R"({"structures":[{"begin":"hi","schema":{"type":"integer"},)"
                                  R"("end":"l"}],"triggers":["h"]})"},
           // Behind "a", "hell" ends one of them in vain, and "l" the other.
           {Kind::kEbnf, "start: X \"l\" start | Y \"z\" start | \"q\"\nX: /a/\nY: /ahe/"},
           {Kind::kEbnf, "root ::= \"[\" root \"]\" | \"'\" [^'\\n]* \"'\" | root \"-\" root"},
           {Kind::kEbnf, "root ::= \"(\" root \")\" | [a-z]*"}}) {
    const auto grammar = compile(kind, source);
    for (int run = 0; run < 8; ++run) {  // later ones find masks that earlier ones left
      GrammarMatcher matcher = grammar->start();
      for (int i = 0; i < 25 && !matcher.has_ended(); ++i) {
        const auto tokens = allowed(matcher);
        for (Token token = 0; token < tokenizer_->vocab_size(); ++token)
          EXPECT_EQ(matcher.allows(token), std::ranges::binary_search(tokens, token))
              << source << " token " << token << " after " << i;
        if (tokens.empty()) break;
        ASSERT_TRUE(matcher.advance(tokens[random() % tokens.size()])) << matcher.fault();
      }
    }
  }
}

TEST_F(GrammarTest, what_was_rolled_back_leaves_nothing_behind) {
  std::mt19937 random(2);
  const auto grammar = compile(
      Kind::kJsonSchema, R"({"type":"array","items":{"type":["string","number"]},"minItems":2})");
  GrammarMatcher matcher = grammar->start();
  for (int i = 0; i < 60 && !matcher.has_ended(); ++i) {
    const auto before = allowed(matcher);
    GrammarMatcher fork = matcher.fork();
    int steps = 0;
    for (; steps < 4 && !matcher.has_ended(); ++steps) {
      const auto tokens = allowed(matcher);
      ASSERT_TRUE(matcher.advance(tokens[random() % tokens.size()]));
    }
    ASSERT_TRUE(matcher.roll_back(steps)) << matcher.fault();
    EXPECT_EQ(allowed(matcher), before) << i;
    EXPECT_EQ(allowed(fork), before) << i;
    ASSERT_TRUE(matcher.advance(before[random() % before.size()]));
  }
}

TEST_F(GrammarTest, forced_bytes_are_those_of_every_continuation) {
  const auto grammar =
      compile(Kind::kJsonSchema,
              R"({"type":"object","properties":{"hello":{"type":"boolean"}},"required":["hello"],)"
              R"("additionalProperties":false})",
              {.is_compact = true});
  GrammarMatcher matcher = grammar->start();
  EXPECT_EQ(matcher.forced(), R"({"hello": )");
  const auto before = allowed(matcher);
  EXPECT_EQ(before, std::vector<Token>{byte_token('{')}) << "asking changes nothing";
  for (const char byte : std::string_view(R"({"hello": t)"))
    ASSERT_TRUE(matcher.advance(byte_token(byte)));
  EXPECT_EQ(matcher.forced(), "rue}");
}

TEST_F(GrammarTest, tokenizers_of_pieces_work_too) {
  TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"LlamaTokenizer"})");
  const Tokenizer tokenizer(folder.path());
  const auto vocabulary = GrammarVocabulary::of(tokenizer);
  ASSERT_TRUE(vocabulary);
  const auto grammar = Grammar::compile(*vocabulary, {Kind::kRegex, "é", {}});
  ASSERT_TRUE(grammar);
  GrammarMatcher matcher = (*grammar)->start();
  for (const char* name : {"<0xC3>", "<0xA9>"}) {
    const auto token = tokenizer.token_id(name);
    ASSERT_TRUE(token && matcher.allows(*token)) << name;
    ASSERT_TRUE(matcher.advance(*token));
  }
  EXPECT_TRUE(matcher.has_ended());
}

TEST_F(GrammarTest, a_cache_keeps_what_was_used_last) {
  GrammarCache cache(*tokenizer_, 2, 1000);
  const auto compile = [&](std::string source, JsonLayout layout = {}) {
    const auto grammar = cache.compile({Kind::kRegex, std::move(source), std::move(layout)});
    return grammar ? *grammar : nullptr;
  };
  const auto a = compile("a");
  const auto b = compile("b");
  EXPECT_EQ(compile("a"), a);
  EXPECT_NE(compile("c"), nullptr);
  EXPECT_EQ(compile("a"), a) << "used before b was forgotten";
  EXPECT_EQ(cache.counts().compilations, 3U);
  EXPECT_NE(compile("b"), b);
  EXPECT_EQ(cache.counts().grammars, 2U);
  EXPECT_EQ(compile("("), nullptr);
  EXPECT_EQ(cache.counts().grammars, 2U) << "what is refused is not kept";
  EXPECT_NE(compile(std::string(1500, 'a')), nullptr) << "too large to be kept";
  EXPECT_EQ(cache.counts().grammars, 2U);
  EXPECT_NE(compile("b", {.is_compact = true}), compile("b")) << "another layout is another one";
}

TEST_F(GrammarTest, a_cache_is_as_large_as_it_may_be) {
  const auto bytes_of = [&](std::size_t size) {
    GrammarCache cache(*tokenizer_, 9, 1 << 20);
    EXPECT_TRUE(cache.compile({Kind::kRegex, std::string(size, 'a'), {}}));
    return cache.counts().bytes;
  };
  const std::size_t one = bytes_of(3);
  EXPECT_EQ(bytes_of(13), one + 10);
  for (const std::size_t less : {0U, 1U}) {
    GrammarCache cache(*tokenizer_, 9, 2 * one - less);
    for (const char* source : {"abc", "abd"})
      EXPECT_TRUE(cache.compile({Kind::kRegex, source, {}}));
    EXPECT_EQ(cache.counts().grammars, 2 - less);
    EXPECT_EQ(cache.counts().bytes, (2 - less) * one);
    EXPECT_EQ(cache.counts().compilations, 2U);
    EXPECT_EQ(cache.counts().reused, 0U);
  }
}

}  // namespace
}  // namespace foretoken
