#include "server/structured/tokens_behind.h"

#include <algorithm>
#include <string>

#include "base/index.h"

namespace foretoken {

std::vector<Token> tokens_behind(const Tokenizer& tokenizer, std::span<const Token> tail,
                                 std::string_view text) {
  std::string whole;
  for (const Token token : tail) whole += tokenizer.piece(token);
  const std::size_t border = whole.size();
  whole += text;
  const auto tokens = tokenizer.encode(whole, AddSpecial::kNo);
  if (!tokens) return {};  // half a character
  std::size_t all = 0;
  for (const Token token : *tokens) all += tokenizer.piece(token).size();
  // Tokenizers of pieces put a space before the text.
  const std::size_t extra = all - std::min(all, whole.size());
  if (all != whole.size() + extra || extra > at(tokenizer.leading_spaces())) return {};
  std::size_t read = 0, first = 0;
  while (first < tokens->size() && read < border + extra)
    read += tokenizer.piece((*tokens)[first++]).size();
  if (read != border + extra || (border == 0 && extra > 0)) return {};
  return {tokens->begin() + static_cast<std::ptrdiff_t>(first), tokens->end()};
}

std::vector<Token> tokens_near(const Tokenizer& tokenizer, std::span<const Token> tail,
                               std::string_view text) {
  auto tokens = tokens_behind(tokenizer, tail, text);
  return tokens.empty() ? tokens_behind(tokenizer, {}, text) : std::move(tokens);
}

}  // namespace foretoken
