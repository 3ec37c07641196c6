#include "server/structured/grammar_constraint.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "server/structured/tokens_behind.h"

namespace foretoken {
namespace {

constexpr std::size_t kTail = 3;            // tokens that those behind them may depend on
constexpr std::size_t kExpectedBytes = 96;  // that are cut into tokens at once
constexpr std::size_t kMostTokens = 32;     // that are remembered at once

bool may_be_laid_out(const GrammarSpec& spec) {
  return spec.layout == JsonLayout{} && (spec.kind == GrammarSpec::Kind::kJsonSchema ||
                                         spec.kind == GrammarSpec::Kind::kStructuralTag);
}

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<const GrammarParts> parts)
    : parts_(std::move(parts)), matcher_(parts_->grammar->start()) {
  if (parts_->guide) guide_.emplace(*parts_->guide, parts_->tokenizer);
}

std::span<const std::uint32_t> GrammarConstraint::allowed() {
  mask_.assign(parts_->grammar->mask_words(), 0);
  if (!matcher_.mask(mask_) || !matcher_.may_end()) return mask_;
  for (const Token stop : parts_->stops)
    if (stop >= 0 && at(stop) / 32 < mask_.size()) mask_[at(stop) / 32] |= 1U << (at(stop) % 32);
  return mask_;
}

// Nothing follows a stop token, so it counts only where it comes first.
int GrammarConstraint::count_allowed(std::span<const Token> tokens) {
  const int count = matcher_.count_allowed(tokens);
  const bool may_stop = count == 0 && !tokens.empty() &&
                        std::ranges::find(parts_->stops, tokens.front()) != parts_->stops.end() &&
                        at(tokens.front()) / 32 < parts_->grammar->mask_words() &&
                        matcher_.may_end();
  return may_stop ? 1 : count;
}

void GrammarConstraint::advance(Token token) {
  matcher_.advance(token);
  follow(token);
  remember(token);
}

bool GrammarConstraint::take(std::string_view text, Token last) {
  if (!matcher_.advance_text(text)) return false;
  expected_.clear();
  if (guide_ && !guide_->follow_text(text)) guide_.reset();
  remember(last);
  return true;
}

void GrammarConstraint::remember(Token token) {
  if (tail_.size() == kTail) tail_.erase(tail_.begin());
  tail_.push_back(token);
}

// What is expected was an honest guess only.
void GrammarConstraint::follow(Token token) {
  const auto written = written_by(token, expected_);
  if (written && !expected_.empty() && parts_->cuts)
    parts_->cuts->add(tail_.empty() ? kNoToken : tail_.back(), expected_, token);
  expected_.erase(0, written.value_or(expected_.size()));
  if (!guide_ || guide_->follow(token)) return;
  guide_.reset();
  expected_.clear();
}

std::vector<Token> GrammarConstraint::foreseen() {
  if (!matcher_.fault().empty()) return {};
  if (expected_.empty()) expected_ = guide_ ? guide_->forced() : matcher_.forced();
  std::string_view rest(expected_);
  std::vector<Token> tokens = remembered(rest);
  if (tokens.size() == kMostTokens) return tokens;
  rest = rest.substr(0, kExpectedBytes);
  if (rest.empty()) return tokens;
  std::vector<Token> before = tail_;
  before.insert(before.end(), tokens.begin(), tokens.end());
  if (before.size() > kTail) before.erase(before.begin(), before.end() - kTail);
  const auto others = tokens_near(parts_->tokenizer, before, rest);
  tokens.insert(tokens.end(), others.begin(), others.end());
  return tokens;
}

std::vector<Token> GrammarConstraint::remembered(std::string_view& text) const {
  std::vector<Token> tokens;
  if (!parts_->cuts) return tokens;
  Token before = tail_.empty() ? kNoToken : tail_.back();
  while (!text.empty() && tokens.size() < kMostTokens) {
    const Token next = parts_->cuts->find(before, text);
    const auto written = written_by(next, text);
    if (!written) break;
    tokens.push_back(next);
    text.remove_prefix(*written);
    before = next;
  }
  return tokens;
}

// Bytes of `expected`; nullopt: it is something else.
std::optional<std::size_t> GrammarConstraint::written_by(Token token,
                                                         std::string_view expected) const {
  const std::string_view piece = parts_->tokenizer.piece(token);
  if (piece.empty()) return std::nullopt;
  if (guide_) return written_of(expected, piece);
  return expected.starts_with(piece) ? std::optional(piece.size()) : std::nullopt;
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
                     .cuts = context.cuts};
  if (may_be_laid_out(request.spec)) {
    GrammarSpec compact = request.spec;
    compact.layout.is_compact = true;
    if (auto guide = context.grammars->compile(compact)) parts.guide = *std::move(guide);
  }
  return std::make_shared<const GrammarParts>(std::move(parts));
}

}  // namespace foretoken
