#pragma once
// ThoughtBudget: the constraint that keeps a budget of thinking tokens. Reasoning that has used its
// budget is ended by the mark of the model's family and nothing else.
//   - It is a function of the tokens so far: exact to the token, however many a step finds.
//   - Before the last token of the budget it bars nothing and costs no mask.
//   - It wraps the constraint that the answer may have.
// Threads as TokenConstraint's.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/token_constraint.h"
#include "server/chat/thought_limit.h"
#include "server/context/server_context.h"
#include "server/structured/shared_source.h"
#include "text/dialogue/thought_meter.h"

namespace foretoken {

// Where an answer may think.
struct ThoughtPlace {
  const ReasoningStyle* style = nullptr;  // null: nowhere
  bool begins_inside = false;
  bool may_open = false;  // the answer may begin with the mark of the beginning
};

// After a prompt that is no chat: told from its end.
ThoughtPlace thoughts_after(const ServerContext& context, std::span<const Token> prompt);

// What the constraints of a request have in common.
struct ThoughtParts {
  const Tokenizer& tokenizer;
  ThoughtPlace place;
  std::int64_t budget = 0;
  std::vector<Token> end;  // that say the mark
  std::int64_t vocab = 0;
  std::shared_ptr<const ConstraintSource> rest;  // null: any text
};

class ThoughtBudget final : public TokenConstraint {
 public:
  explicit ThoughtBudget(std::shared_ptr<const ThoughtParts> parts);

  std::span<const std::uint32_t> allowed() override;
  bool allows(Token token) override;
  void advance(Token token) override;
  bool has_ended() const override { return rest_ != nullptr && rest_->has_ended(); }
  const std::string& fault() const override { return rest_ != nullptr ? rest_->fault() : kNone; }
  int count_allowed(std::span<const Token> tokens) override;
  std::vector<Token> foreseen() override;

 private:
  static const std::string kNone;

  // How far a text has come: apart, because drafts are looked at on a copy.
  struct Progress {
    ThoughtMeter meter;
    std::vector<Token> tail;  // the last tokens, fewer than the mark has

    void advance(const ThoughtParts& parts, Token token);
    // The token that must come next; kNoToken: none must.
    Token due(const ThoughtParts& parts) const;
  };

  std::shared_ptr<const ThoughtParts> parts_;
  Progress progress_;
  std::unique_ptr<TokenConstraint> rest_;  // null: any text
  std::vector<std::uint32_t> mask_;
};

using ThoughtSource = SharedSource<ThoughtBudget, ThoughtParts>;

// The tokens that say `mark`, whatever stands before it; none where the tokenizer has no such ones.
std::vector<Token> tokens_of_mark(const Tokenizer& tokenizer, std::string_view mark);

// `rest` with thoughts bounded, or why they cannot be.
Result<std::shared_ptr<const ConstraintSource>> bound_thoughts(
    const ServerContext& context, const ThoughtLimit& limit, const ThoughtPlace& place,
    std::shared_ptr<const ConstraintSource> rest);

}  // namespace foretoken
