#include "bench/grammar_check_command.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>

#include "base/error.h"
#include "text/grammar.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr int kMostTokens = 600;  // of a sample

struct Question {
  GrammarSpec spec;
  std::vector<std::string> texts;
  int samples = 0;
  std::uint64_t seed = 0;
};

GrammarSpec::Kind kind_of(std::string_view name) {
  constexpr std::pair<std::string_view, GrammarSpec::Kind> kKinds[] = {
      {"json_schema", GrammarSpec::Kind::kJsonSchema},
      {"regex", GrammarSpec::Kind::kRegex},
      {"ebnf", GrammarSpec::Kind::kEbnf},
      {"structural_tag", GrammarSpec::Kind::kStructuralTag},
      {"choice", GrammarSpec::Kind::kChoice}};
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  throw Error({"unknown kind of grammar", "kind", "json_schema, regex, ...", std::string(name)});
}

Question read(const std::string& line) try {
  const json::value value = json::parse(line);
  const json::object& fields = value.as_object();
  Question question;
  const json::value& source = fields.at("source");
  question.spec.source =
      source.is_string() ? std::string(source.get_string()) : json::serialize(source);
  if (const auto* kind = fields.if_contains("kind"))
    question.spec.kind = kind_of(kind->as_string());
  if (const auto* texts = fields.if_contains("texts"))
    for (const json::value& text : texts->as_array()) question.texts.emplace_back(text.as_string());
  if (const auto* samples = fields.if_contains("samples"))
    question.samples = samples->to_number<int>();
  if (const auto* seed = fields.if_contains("seed"))
    question.seed = seed->to_number<std::uint64_t>();
  return question;
} catch (const boost::system::system_error& error) {
  throw Error({"a question", {}, "an object as the header says", error.what()});
}

class Examiner {
 public:
  explicit Examiner(const std::string& folder) : tokenizer_(std::filesystem::path(folder)) {
    auto vocabulary = GrammarVocabulary::of(tokenizer_);
    if (!vocabulary) throw Error({vocabulary.refusal().message});
    vocabulary_.emplace(*std::move(vocabulary));
    words_.resize(vocabulary_->mask_words());
  }

  json::object answer(const Question& question) {
    const auto begin = std::chrono::steady_clock::now();
    const auto grammar = Grammar::compile(*vocabulary_, question.spec);
    const std::chrono::duration<double, std::milli> compiled =
        std::chrono::steady_clock::now() - begin;
    json::object answer{{"ms", compiled.count()}};
    if (!grammar) {
      answer["refused"] = grammar.refusal().message;
      return answer;
    }
    json::array verdicts, samples;
    for (const std::string& text : question.texts) verdicts.emplace_back(verdict(**grammar, text));
    std::mt19937_64 random(question.seed);
    int unfinished = 0;
    for (int i = 0; i < question.samples; ++i) {
      const auto text = sample(**grammar, random);
      if (text)
        samples.emplace_back(*text);
      else
        ++unfinished;
    }
    answer["verdicts"] = std::move(verdicts);
    answer["samples"] = std::move(samples);
    answer["unfinished"] = unfinished;
    return answer;
  }

 private:
  std::string_view verdict(const Grammar& grammar, const std::string& text) {
    const auto tokens = tokenizer_.encode(text, AddSpecial::kNo);
    GrammarMatcher matcher = grammar.start();
    for (const Token token : tokens ? *tokens : std::vector<Token>{})
      if (matcher.has_ended() || !matcher.allows(token) || !matcher.advance(token)) return "barred";
    if (!tokens || !matcher.fault().empty()) return "barred";
    return matcher.may_end() ? "whole" : "beginning";
  }

  // Tokens are drawn as they come, and more often such as make an end likely. Nullopt: no end was
  // found, or none within bounds.
  std::optional<std::string> sample(const Grammar& grammar, std::mt19937_64& random) {
    GrammarMatcher matcher = grammar.start();
    std::string text;
    for (int i = 0; i < kMostTokens; ++i) {
      if (matcher.has_ended() || (matcher.may_end() && random() % 4 == 0)) return text;
      if (!matcher.mask(words_)) break;
      std::vector<Token> all, closing;
      for (Token token = 0; token < tokenizer_.vocab_size(); ++token) {
        const auto id = static_cast<std::size_t>(token);
        if (((words_[id / 32] >> (id % 32)) & 1U) == 0) continue;
        all.push_back(token);
        constexpr std::string_view kClosing = "\"}],:0";
        if (const auto piece = tokenizer_.piece(token);
            piece.size() == 1 && kClosing.find(piece) != std::string_view::npos)
          closing.push_back(token);
      }
      if (all.empty()) return matcher.may_end() ? std::optional(text) : std::nullopt;
      const auto& from = !closing.empty() && random() % 3 != 0 ? closing : all;
      const Token token = from[random() % from.size()];
      text += tokenizer_.piece(token);
      if (!matcher.advance(token)) break;
    }
    return std::nullopt;
  }

  Tokenizer tokenizer_;
  std::optional<GrammarVocabulary> vocabulary_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

int grammar_check_command(std::span<const std::string> args) {
  if (args.size() != 1)
    throw Error({"foretoken-bench grammar-check",
                 {},
                 "the folder of a tokenizer",
                 fmt::format("{} arguments", args.size())});
  Examiner examiner(args[0]);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json::serialize(examiner.answer(read(line))) << std::endl;
  return 0;
}

}  // namespace foretoken
