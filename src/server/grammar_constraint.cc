#include "server/grammar_constraint.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kTail = 3;            // tokens that those behind them may depend on
constexpr std::size_t kExpectedBytes = 96;  // that are cut into tokens at once

bool may_be_laid_out(const GrammarSpec& spec) {
  return spec.layout == JsonLayout{} && (spec.kind == GrammarSpec::Kind::kJsonSchema ||
                                         spec.kind == GrammarSpec::Kind::kStructuralTag);
}

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<const GrammarParts> parts)
    : parts_(std::move(parts)),
      matcher_(parts_->grammar->start()),
      is_waiting_(parts_->after != kNoToken) {
  if (parts_->guide) guide_.emplace(parts_->guide->start());
}

std::span<const std::uint32_t> GrammarConstraint::allowed() {
  if (is_waiting_) return {};
  mask_.assign(parts_->grammar->mask_words(), 0);
  if (!matcher_.mask(mask_) || !matcher_.may_end()) return mask_;
  for (const Token stop : parts_->stops)
    if (stop >= 0 && at(stop) / 32 < mask_.size()) mask_[at(stop) / 32] |= 1U << (at(stop) % 32);
  return mask_;
}

// Nothing follows a stop token, so it counts only where it comes first.
int GrammarConstraint::count_allowed(std::span<const Token> tokens) {
  if (is_waiting_) return static_cast<int>(tokens.size());
  const int count = matcher_.count_allowed(tokens);
  const bool may_stop = count == 0 && !tokens.empty() &&
                        std::ranges::find(parts_->stops, tokens.front()) != parts_->stops.end() &&
                        at(tokens.front()) / 32 < parts_->grammar->mask_words() &&
                        matcher_.may_end();
  return may_stop ? 1 : count;
}

void GrammarConstraint::advance(Token token) {
  if (!is_waiting_) {
    matcher_.advance(token);
    follow(token);
  } else if (token == parts_->after) {
    is_waiting_ = false;
  }
  if (tail_.size() == kTail) tail_.erase(tail_.begin());
  tail_.push_back(token);
}

// What is expected was an honest guess only.
void GrammarConstraint::follow(Token token) {
  const std::string_view piece = parts_->tokenizer.piece(token);
  if (!piece.empty() && expected_.starts_with(piece)) {
    if (parts_->cuts) parts_->cuts->add(tail_.empty() ? kNoToken : tail_.back(), expected_, token);
    expected_.erase(0, piece.size());
  } else {
    expected_.clear();
  }
  if (guide_ && (!guide_->allows(token) || !guide_->advance(token))) guide_.reset();
}

std::vector<Token> GrammarConstraint::foreseen() {
  if (is_waiting_ || !matcher_.fault().empty()) return {};
  if (expected_.empty()) expected_ = guide_ ? guide_->forced() : matcher_.forced();
  std::string_view rest(expected_);
  std::vector<Token> tokens = remembered(rest);
  rest = rest.substr(0, kExpectedBytes - std::min(kExpectedBytes, expected_.size() - rest.size()));
  if (rest.empty()) return tokens;
  std::vector<Token> before = tail_;
  before.insert(before.end(), tokens.begin(), tokens.end());
  if (before.size() > kTail) before.erase(before.begin(), before.end() - kTail);
  auto others = tokens_behind(parts_->tokenizer, before, rest);
  // Where the model has cut as the tokenizer would not.
  if (others.empty()) others = tokens_behind(parts_->tokenizer, {}, rest);
  tokens.insert(tokens.end(), others.begin(), others.end());
  return tokens;
}

std::vector<Token> GrammarConstraint::remembered(std::string_view& text) const {
  std::vector<Token> tokens;
  if (!parts_->cuts) return tokens;
  Token before = tail_.empty() ? kNoToken : tail_.back();
  for (std::size_t read = 0; !text.empty() && read < kExpectedBytes;) {
    const Token next = parts_->cuts->find(before, text);
    const std::string_view piece = parts_->tokenizer.piece(next);
    if (piece.empty() || !text.starts_with(piece)) break;
    tokens.push_back(next);
    text.remove_prefix(piece.size());
    read += piece.size();
    before = next;
  }
  return tokens;
}

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

Result<std::shared_ptr<const GrammarParts>> grammar_parts(ServerContext& context,
                                                          const GrammarRequest& request,
                                                          const std::vector<Token>& stops) {
  if (context.grammars == nullptr)
    return Refusal{fmt::format(
        "{} is not supported: {}", request.field,
        context.tokenizer == nullptr
            ? "grammars need a tokenizer, and this server runs with --skip-tokenizer-init"
            : "this server runs with --grammar-backend none")};
  auto grammar = context.grammars->compile(request.spec);
  if (!grammar)
    return Refusal{fmt::format("{} cannot be used: {}", request.field, grammar.refusal().message)};
  GrammarParts parts{.grammar = *std::move(grammar),
                     .guide = nullptr,
                     .tokenizer = *context.tokenizer,
                     .stops = stops,
                     .after = request.after,
                     .cuts = context.cuts};
  if (may_be_laid_out(request.spec)) {
    GrammarSpec compact = request.spec;
    compact.layout.is_compact = true;
    if (auto guide = context.grammars->compile(compact)) parts.guide = *std::move(guide);
  }
  return std::make_shared<const GrammarParts>(std::move(parts));
}

Result<std::shared_ptr<const ConstraintSource>> make_constraint(ServerContext& context,
                                                                const GrammarRequest& request,
                                                                const std::vector<Token>& stops) {
  auto parts = grammar_parts(context, request, stops);
  if (!parts) return parts.refusal();
  return std::shared_ptr<const ConstraintSource>(
      std::make_shared<const GrammarSource>(*std::move(parts)));
}

}  // namespace foretoken
