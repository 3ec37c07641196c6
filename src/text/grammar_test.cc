#include "text/grammar.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "text/grammar_cache.h"
#include "text/test_tokenizers.h"

namespace foretoken {
namespace {

using Kind = GrammarSpec::Kind;

class GrammarTest : public testing::Test {
 protected:
  GrammarTest() {
    folder_.write("tokenizer.json", tiny_byte_level_json());
    folder_.write("tokenizer_config.json",
                  R"({"bos_token": "<|bos|>", "eos_token": {"content": "<|eos|>"}})");
    tokenizer_.emplace(folder_.path());
    auto vocabulary = GrammarVocabulary::of(*tokenizer_);
    EXPECT_TRUE(vocabulary);
    vocabulary_.emplace(std::move(*vocabulary));
  }

  std::shared_ptr<const Grammar> compile(Kind kind, std::string source, JsonLayout layout = {}) {
    auto grammar = Grammar::compile(*vocabulary_, {kind, std::move(source), std::move(layout)});
    EXPECT_TRUE(grammar) << grammar.refusal().message;
    return grammar ? *grammar : nullptr;
  }

  std::string refusal(Kind kind, std::string source) {
    const auto grammar = Grammar::compile(*vocabulary_, {kind, std::move(source), {}});
    return grammar ? "none" : grammar.refusal().message;
  }

  std::vector<Token> allowed(GrammarMatcher& matcher) {
    std::vector<std::uint32_t> words(vocabulary_->mask_words());
    EXPECT_TRUE(matcher.mask(words)) << matcher.fault();
    std::vector<Token> tokens;
    for (Token token = 0; token < static_cast<Token>(words.size() * 32); ++token)
      if ((words[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1U)
        tokens.push_back(token);
    return tokens;
  }

  // How a grammar takes a text, byte by byte: 'x' not at all, '-' as a beginning, 'a' as a text
  // that may go on, 'e' as a text that may not.
  char verdict(const Grammar& grammar, std::string_view text) {
    GrammarMatcher matcher = grammar.start();
    for (const char byte : text) {
      const Token token = byte_token(byte);
      if (matcher.has_ended() || !matcher.allows(token)) return 'x';
      EXPECT_TRUE(matcher.advance(token)) << matcher.fault();
    }
    if (matcher.has_ended()) return 'e';
    return matcher.may_end() ? 'a' : '-';
  }

  Token byte_token(char byte) const {
    for (Token token = 0; token < 256; ++token)
      if (tokenizer_->piece(token) == std::string_view(&byte, 1)) return token;
    return kNoToken;
  }

  // A random text of the grammar, cut into whatever tokens the draws say; empty where it did not
  // end within `most` tokens.
  std::string random_text(const Grammar& grammar, std::mt19937& random, int most = 400) {
    GrammarMatcher matcher = grammar.start();
    std::string text;
    for (int i = 0; i < most; ++i) {
      if (matcher.has_ended() || (matcher.may_end() && random() % 4 == 0)) return text;
      auto tokens = allowed(matcher);
      if (tokens.empty()) return text;
      // Mostly what makes an end likely.
      std::vector<Token> closing;
      for (const Token token : tokens)
        if (std::string_view("\"}],:0").find(tokenizer_->piece(token)) != std::string_view::npos)
          closing.push_back(token);
      const auto& from = !closing.empty() && random() % 4 != 0 ? closing : tokens;
      const Token token = from[random() % from.size()];
      text += tokenizer_->piece(token);
      EXPECT_TRUE(matcher.advance(token)) << matcher.fault();
    }
    return {};
  }

  TempFolder folder_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<GrammarVocabulary> vocabulary_;
};

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
  EXPECT_EQ(verdict(*any, "{" + std::string(32, ' ')), '-');
  EXPECT_EQ(verdict(*any, "{" + std::string(33, ' ')), 'x') << "nobody ends otherwise";
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
  TempFolder folder;
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

}  // namespace
}  // namespace foretoken
