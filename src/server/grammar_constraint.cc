#include "server/grammar_constraint.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"

namespace foretoken {

std::span<const std::uint32_t> GrammarConstraint::allowed() {
  if (is_waiting()) return {};
  mask_.assign(mask_words_, 0);
  if (!matcher_.mask(mask_) || !matcher_.may_end()) return mask_;
  for (const Token stop : *stops_)
    if (stop >= 0 && at(stop) / 32 < mask_.size()) mask_[at(stop) / 32] |= 1U << (at(stop) % 32);
  return mask_;
}

bool GrammarConstraint::allows(Token token) {
  if (is_waiting()) return true;
  if (token >= 0 && at(token) / 32 >= mask_words_) return false;
  if (matcher_.allows(token)) return true;
  return std::ranges::find(*stops_, token) != stops_->end() && matcher_.may_end();
}

void GrammarConstraint::advance(Token token) {
  if (!is_waiting())
    matcher_.advance(token);
  else if (token == after_)
    after_ = kNoToken;
}

std::unique_ptr<TokenConstraint> GrammarConstraint::fork() const {
  return std::make_unique<GrammarConstraint>(matcher_.fork(), stops_, mask_words_, after_);
}

std::unique_ptr<TokenConstraint> GrammarSource::start() const {
  return std::make_unique<GrammarConstraint>(grammar_->start(), stops_, grammar_->mask_words(),
                                             after_);
}

Result<std::shared_ptr<const ConstraintSource>> make_constraint(ServerContext& context,
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
  return std::shared_ptr<const ConstraintSource>(
      std::make_shared<const GrammarSource>(*std::move(grammar), stops, request.after));
}

}  // namespace foretoken
