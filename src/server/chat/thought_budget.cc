#include "server/chat/thought_budget.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"

namespace foretoken {
namespace {

bool says(const ReasoningStyle& style, const Tokenizer& tokenizer, std::span<const Token> tokens) {
  ThoughtMeter meter(style, true);
  for (const Token token : tokens) {
    if (meter.is_over()) return false;
    meter.push(tokenizer.piece(token));
  }
  return meter.is_over();
}

}  // namespace

ThoughtPlace thoughts_after(const ServerContext& context, std::span<const Token> prompt) {
  constexpr std::size_t kTail = 64;  // tokens: more than the mark of the beginning has
  if (context.reasoning_style == nullptr || context.tokenizer == nullptr) return {};
  const auto tail = prompt.subspan(prompt.size() - std::min(prompt.size(), kTail));
  return {
      .style = context.reasoning_style,
      .begins_inside = begins_inside(
          *context.reasoning_style, context.tokenizer->decode(tail, SpecialText::kKeep), "", true)};
}

const std::string ThoughtBudget::kNone;

ThoughtBudget::ThoughtBudget(std::shared_ptr<const ThoughtParts> parts)
    : parts_(std::move(parts)),
      progress_{.meter = ThoughtMeter(*parts_->place.style, parts_->place.begins_inside),
                .tail = {}},
      rest_(parts_->rest != nullptr ? parts_->rest->start() : nullptr) {}

void ThoughtBudget::Progress::advance(const ThoughtParts& parts, Token token) {
  if (meter.is_over()) return;
  meter.push(parts.tokenizer.piece(token));
  tail.push_back(token);
  if (tail.size() >= parts.end.size()) tail.erase(tail.begin());
}

// Where the model has begun to say the mark by itself, the rest of it.
Token ThoughtBudget::Progress::due(const ThoughtParts& parts) const {
  if (!meter.is_inside() || meter.tokens() < parts.budget) return kNoToken;
  std::size_t said = tail.size();
  while (!std::equal(tail.end() - static_cast<std::ptrdiff_t>(said), tail.end(), parts.end.begin()))
    --said;
  return parts.end[said];
}

std::span<const std::uint32_t> ThoughtBudget::allowed() {
  const Token due = progress_.due(*parts_);
  if (due == kNoToken)
    return rest_ != nullptr ? rest_->allowed() : std::span<const std::uint32_t>();
  mask_.assign(static_cast<std::size_t>(parts_->vocab + 31) / 32, 0);
  mask_[at(due) / 32] |= 1U << (at(due) % 32);
  return mask_;
}

bool ThoughtBudget::allows(Token token) {
  const Token due = progress_.due(*parts_);
  if (due != kNoToken) return token == due;
  return rest_ == nullptr || rest_->allows(token);
}

void ThoughtBudget::advance(Token token) {
  progress_.advance(*parts_, token);
  if (rest_ != nullptr) rest_->advance(token);
}

int ThoughtBudget::count_allowed(std::span<const Token> tokens) {
  const auto size = static_cast<std::int64_t>(tokens.size());
  const ThoughtMeter& meter = progress_.meter;
  int count = static_cast<int>(size);
  if (!meter.is_over() && meter.tokens() + size > parts_->budget) {
    Progress progress = progress_;
    for (count = 0; count < size; ++count) {
      const Token token = tokens[at(count)], due = progress.due(*parts_);
      if (due != kNoToken && token != due) break;
      progress.advance(*parts_, token);
    }
  }
  if (rest_ == nullptr || progress_.due(*parts_) != kNoToken) return count;
  return std::min(count, rest_->count_allowed(tokens));
}

std::vector<Token> ThoughtBudget::foreseen() {
  Progress progress = progress_;
  std::vector<Token> tokens;
  while (tokens.size() < parts_->end.size()) {
    const Token due = progress.due(*parts_);
    if (due == kNoToken) break;
    tokens.push_back(due);
    progress.advance(*parts_, due);
  }
  if (tokens.empty() && rest_ != nullptr) return rest_->foreseen();
  return tokens;
}

std::vector<Token> tokens_of_mark(const Tokenizer& tokenizer, std::string_view mark) {
  if (const auto token = tokenizer.token_id(mark)) return {*token};
  auto tokens = tokenizer.encode(mark, AddSpecial::kNo);
  if (!tokens) return {};
  std::string text;
  for (const Token token : *tokens) text += tokenizer.piece(token);
  // Tokenizers of pieces put a space before a text.
  return text.ends_with(mark) ? *std::move(tokens) : std::vector<Token>();
}

Result<std::shared_ptr<const ConstraintSource>> bound_thoughts(
    const ServerContext& context, const ThoughtLimit& limit, const ThoughtPlace& place,
    std::shared_ptr<const ConstraintSource> rest) {
  const auto give_up =
      [&](std::string_view why) -> Result<std::shared_ptr<const ConstraintSource>> {
    if (limit.is_advice) return rest;
    return Refusal{fmt::format("{} is not supported: {}", limit.field, why)};
  };
  if (context.tokenizer == nullptr)
    return give_up("marks need a tokenizer, and this server runs with --skip-tokenizer-init");
  if (context.reasoning_style == nullptr)
    return give_up("this server tells no reasoning apart: start it with --reasoning-parser");
  if (context.reasoning_style->has_channels)
    return give_up(fmt::format("the family {} has no mark that ends the reasoning",
                               context.reasoning_style->name));
  if (place.style == nullptr) return rest;
  auto end = tokens_of_mark(*context.tokenizer, place.style->close);
  if (end.empty() || !says(*place.style, *context.tokenizer, end) ||
      std::ranges::any_of(end, [&](Token token) { return token >= context.config.vocab; }))
    return give_up(
        fmt::format("this model's tokenizer has no tokens for \"{}\"", place.style->close));
  return std::shared_ptr<const ConstraintSource>(
      std::make_shared<const ThoughtSource>(ThoughtParts{.tokenizer = *context.tokenizer,
                                                         .place = place,
                                                         .budget = limit.tokens,
                                                         .end = std::move(end),
                                                         .vocab = context.config.vocab,
                                                         .rest = std::move(rest)}));
}

}  // namespace foretoken
