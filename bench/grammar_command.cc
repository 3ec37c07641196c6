#include "bench/grammar_command.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "bench/author.h"
#include "text/grammar.h"

namespace foretoken {
namespace {

using Kind = GrammarSpec::Kind;

struct Case {
  const char* name;
  GrammarSpec spec;
  std::string text;  // of the grammar
};

std::vector<Case> cases() {
  const std::string person =
      R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},)"
      R"("email":{"type":"string","format":"email"},"tags":{"type":"array","items":{"type":"string"}},)"
      R"("address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string",)"
      R"("pattern":"^[0-9]{5}$"}},"required":["street","zip"]}},)"
      R"("required":["name","age","email","tags","address"],"additionalProperties":false})";
  const std::string one =
      R"({"name": "Ada Lovelace of London", "age": 36, "email": "ada@example.org", "tags": )"
      R"(["mathematician", "writer of the first program", "it's a long text, with many words"], )"
      R"("address": {"street": "St James's Square 12", "zip": "12345"}})";
  const std::string any =
      R"({"a": [1, 2.5, {"deep": {"deeper": ["text with \"quotes\" and \n breaks", null, true]}}], )"
      R"("b": {"c": "the quick brown fox jumps over the lazy dog"}})";
  const std::string json_ebnf =
      "root ::= object\nvalue ::= object | array | string | number | \"true\" | \"false\" | "
      "\"null\"\nobject ::= \"{\" ws (pair (\",\" ws pair)*)? \"}\" ws\npair ::= string \":\" ws "
      "value\narray ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\nstring ::= \"\\\"\" "
      "([^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"\\\\/bfnrt])* \"\\\"\" ws\nnumber ::= \"-\"? [0-9]+ "
      "(\".\" [0-9]+)? ws\nws ::= [ \\n]*";
  const std::string tag = R"({"structures":[{"begin":"<function=get>","schema":)" + person +
                          R"(,"end":"</function>"}],"triggers":["<function="]})";
  return {{"schema", {Kind::kJsonSchema, person, {}}, one},
          {"schema, compact", {Kind::kJsonSchema, person, {.is_compact = true}}, one},
          {"any object", {Kind::kJsonSchema, R"({"type":"object"})", {}}, any},
          {"regex",
           {Kind::kRegex, R"([\w. ]+@[\w.]+, (\d{3}-){2}\d{4}( or .{1,60})?)", {}},
           "Ada Lovelace@example.org, 012-345-6789 or ask whoever may know it"},
          {"recursive ebnf", {Kind::kEbnf, json_ebnf, {}}, any},
          {"structural tag",
           {Kind::kStructuralTag, tag, {}},
           "Let me look that up for you. <function=get>" + one + "</function> Here it is."}};
}

struct TimedSeries {
  std::vector<double> values = {};
  void add(double from) { values.push_back(thread_microseconds() - from); }
  double at(double share) {
    std::sort(values.begin(), values.end());
    return values.empty()
               ? 0
               : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  }
};

void measure(const Case& one, const GrammarVocabulary& vocabulary, const Tokenizer& tokenizer) {
  constexpr int kRounds = 20;
  double begin = thread_microseconds();
  const auto grammar = Grammar::compile(vocabulary, one.spec);
  const double compiled = thread_microseconds() - begin;
  if (!grammar) throw Error({one.name, {}, "a grammar", grammar.refusal().message});
  const auto tokens = tokenizer.encode(one.text, AddSpecial::kNo);
  if (!tokens) throw Error({one.name, {}, "a text", tokens.refusal().message});
  TimedSeries start, first, mask, allows, advance, ahead;
  std::vector<std::uint32_t> words(vocabulary.mask_words());
  for (int round = 0; round < kRounds; ++round) {
    begin = thread_microseconds();
    GrammarMatcher matcher = (*grammar)->start();
    start.add(begin);
    for (const Token token : *tokens) {
      begin = thread_microseconds();
      matcher.forced();
      ahead.add(begin);
      begin = thread_microseconds();
      if (!matcher.mask(words)) throw Error({one.name, {}, "a mask", matcher.fault()});
      (round == 0 ? first : mask).add(begin);
      begin = thread_microseconds();
      if (!matcher.allows(token))
        throw Error(
            {one.name, {}, "a token of it", tokenizer.decode({&token, 1}, SpecialText::kKeep)});
      allows.add(begin);
      begin = thread_microseconds();
      matcher.advance(token);
      advance.add(begin);
    }
  }
  fmt::print(
      "{:<16} {:>7.1f} ms {:>6.1f} us | first mask {:>6.0f} {:>6.0f} {:>6.0f} us | mask {:>5.0f} "
      "{:>5.0f} {:>6.0f} us | one {:>5.1f} {:>5.1f} us | on {:>5.1f} us | ahead {:>5.1f} {:>6.1f} "
      "us\n",
      one.name, compiled / 1000, start.at(0.5), first.at(0.5), first.at(0.95), first.at(1),
      mask.at(0.5), mask.at(0.95), mask.at(1), allows.at(0.5), allows.at(0.95), advance.at(0.5),
      ahead.at(0.5), ahead.at(0.95));
}

}  // namespace

int grammar_command(std::span<const std::string> args) {
  if (args.size() != 1)
    throw Error({"foretoken-bench grammar",
                 {},
                 "the folder of a tokenizer",
                 fmt::format("{} arguments", args.size())});
  const Tokenizer tokenizer{std::filesystem::path(args[0])};
  const double begin = thread_microseconds();
  const auto vocabulary = GrammarVocabulary::of(tokenizer);
  if (!vocabulary) throw Error({vocabulary.refusal().message});
  fmt::print("{} tokens, made ready in {:.0f} ms\n", tokenizer.vocab_size(),
             (thread_microseconds() - begin) / 1000);
  fmt::print(
      "compile, start | masks of a new grammar, then later: median, 95%, most | one token: "
      "median, 95% | moving on | looking ahead: median, 95%\n");
  for (const Case& one : cases()) measure(one, *vocabulary, tokenizer);
  return 0;
}

}  // namespace foretoken
