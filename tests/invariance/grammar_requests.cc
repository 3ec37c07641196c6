#include "invariance/grammar_requests.h"

#include <memory>
#include <random>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "server/chat/thought_budget.h"
#include "server/chat/thoughts_first.h"
#include "server/structured/call_constraint.h"
#include "server/structured/grammar_constraint.h"
#include "server/testing/byte_tokenizer.h"

namespace foretoken {
namespace {

using Kind = GrammarSpec::Kind;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }

  std::string word() {
    std::string word;
    for (int i = 0; i <= below(6); ++i) word += static_cast<char>('a' + below(26));
    return word;
  }

  std::string schema(int depth) {
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
        return R"({"type":"boolean"})";
      case 1:
        return fmt::format(R"({{"type":"integer","minimum":{}}})", below(100));
      case 2:
        return fmt::format(R"({{"type":"string","maxLength":{}}})", 1 + below(9));
      case 3:
        return fmt::format(R"({{"enum":["{}","{}",{}]}})", word(), word(), below(50));
      case 4:
        return fmt::format(R"({{"const":"{} {}"}})", word(), word());
      case 5:
        return fmt::format(R"({{"type":"array","items":{},"minItems":1,"maxItems":3}})",
                           schema(depth - 1));
      default:
        return object(depth - 1);
    }
  }

  std::string object(int depth) {
    std::string properties, required;
    for (int i = 0; i <= below(4); ++i) {
      const std::string name = word() + std::to_string(i);
      properties += fmt::format(R"({}"{}":{})", i > 0 ? "," : "", name, schema(depth));
      if (below(3) > 0) required += fmt::format(R"({}"{}")", required.empty() ? "" : ",", name);
    }
    return fmt::format(
        R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
        properties, required);
  }

  std::string regex(int depth) {
    switch (below(depth > 0 ? 6 : 3)) {
      case 0:
        return word();
      case 1:
        return "[a-f0-9]";
      case 2:
        return "\\d{1,3}";
      case 3:
        return regex(depth - 1) + regex(depth - 1);
      case 4:
        return fmt::format("(?:{}|{})", regex(depth - 1), regex(depth - 1));
      default:
        return fmt::format("(?:{}){{1,4}}", regex(depth - 1));
    }
  }

 private:
  std::mt19937_64 random_;
};

const Tokenizer& tokenizer() {
  static const ByteTokenizerFolder folder({});
  static const Tokenizer bytes(folder.path());
  return bytes;
}

std::shared_ptr<const Grammar> compile(const GrammarSpec& spec) {
  static const auto vocabulary = GrammarVocabulary::of(tokenizer());
  CHECK(vocabulary) << vocabulary.refusal().message;
  auto grammar = Grammar::compile(*vocabulary, spec);
  CHECK(grammar) << grammar.refusal().message << ": " << spec.source;
  return *grammar;
}

std::shared_ptr<const GrammarParts> parts_of(const GrammarSpec& spec) {
  GrammarParts parts{
      .grammar = compile(spec), .guide = nullptr, .tokenizer = tokenizer(), .stops = {kByteEos}};
  if (spec.kind == Kind::kJsonSchema && !spec.layout.is_compact) {
    GrammarSpec compact = spec;
    compact.layout.is_compact = true;
    parts.guide = compile(compact);
  }
  return std::make_shared<const GrammarParts>(std::move(parts));
}

std::shared_ptr<const ConstraintSource> source_of(const GrammarSpec& spec) {
  return std::make_shared<const GrammarSource>(parts_of(spec));
}

ThoughtPlace thoughts(bool begins_inside) {
  return {.style = find_reasoning_style("qwen3"), .begins_inside = begins_inside};
}

// A few tokens of reasoning, then its end, which here is of several tokens.
std::shared_ptr<const ConstraintSource> thoughtful(std::int64_t budget,
                                                   std::shared_ptr<const ConstraintSource> rest) {
  return std::make_shared<const ThoughtSource>(
      ThoughtParts{.tokenizer = tokenizer(),
                   .place = thoughts(true),
                   .budget = budget,
                   .end = tokens_of_mark(tokenizer(), thoughts(true).style->close),
                   .vocab = kByteVocab,
                   .rest = std::move(rest)});
}

// Calls of a tool, behind a mark that the end of a thought says.
std::shared_ptr<const ConstraintSource> calls(const std::string& schema) {
  GrammarParts call{.grammar = compile({.kind = Kind::kJsonSchema, .source = schema}),
                    .guide = nullptr,
                    .tokenizer = tokenizer(),
                    .stops = {}};
  return std::make_shared<const CallSource>(
      CallParts{.call = std::make_shared<const GrammarParts>(std::move(call)),
                .marks = {.calls = {"k>"}},
                .is_strict = true});
}

}  // namespace

std::vector<Request> grammar_requests(std::uint64_t seed) {
  Dice dice(seed);
  const std::vector<GrammarSpec> specs{
      {.kind = Kind::kJsonSchema, .source = dice.object(2)},
      {.kind = Kind::kJsonSchema, .source = dice.object(1), .layout = {.is_compact = true}},
      {.kind = Kind::kRegex, .source = dice.regex(4)},
      {.kind = Kind::kEbnf, .source = "root ::= \"(\" root \")\" | \"" + dice.word() + "\" [0-9]*"},
      {.kind = Kind::kStructuralTag,
       .source = fmt::format(R"({{"structures":[{{"begin":"{}=","schema":{},"end":";"}}],)"
                             R"("triggers":["{}"]}})",
                             "ab", dice.schema(1), "a")}};
  std::vector<std::shared_ptr<const ConstraintSource>> sources;
  for (const GrammarSpec& spec : specs) sources.push_back(source_of(spec));
  sources.push_back(thoughtful(dice.below(9), nullptr));
  sources.push_back(thoughtful(dice.below(9), nullptr));
  sources.push_back(
      thoughtful(dice.below(9), behind_thoughts(parts_of(specs[2]), thoughts(true), kByteVocab)));
  sources.push_back(behind_thoughts(parts_of(specs[0]), thoughts(false), kByteVocab));
  sources.push_back(thoughtful(dice.below(4), calls(dice.object(1))));
  sources.push_back(thoughtful(dice.below(4), calls(dice.object(0))));
  std::vector<Request> requests;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Request& request = requests.emplace_back();
    for (int n = 0; n < 10 + dice.below(30); ++n)
      request.prompt.push_back(static_cast<Token>(dice.below(256)));
    request.max_new_tokens = 28;
    request.sampling.seed = 100 + i;
    request.sampling.temperature = i % 2 == 0 ? 1.0F : 0.0F;
    request.sampling.top_logprobs = i % 3 == 0 ? 3 : -1;
    request.sampling.top_p = i == 2 ? 0.9F : 1.0F;
    request.sampling.stop_tokens = {kByteEos};
    request.constraint = sources[i];
  }
  return requests;
}

}  // namespace foretoken
