#pragma once
// GrammarTest: the fixture of the suites of grammars.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/grammar.h"
#include "text/testing/test_tokenizers.h"

namespace foretoken {

// Compiles grammars for the tiny byte-level tokenizer, and asks what they allow.
class GrammarTest : public testing::Test {
 protected:
  using Kind = GrammarSpec::Kind;

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

  TestFolder folder_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<GrammarVocabulary> vocabulary_;
};

}  // namespace foretoken
