#pragma once
// GrammarConstraint: a grammar's matcher as the engine sees it: a constraint of tokens, with the
// stop tokens of the request where the text may end. GrammarSource: what makes one for each choice
// of a request. Threads as TokenConstraint's.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "batch/token_constraint.h"
#include "server/grammar_request.h"
#include "server/server_context.h"
#include "text/grammar.h"

namespace foretoken {

class GrammarConstraint final : public TokenConstraint {
 public:
  // stops: tokens that end the text; they outlive it. after: see GrammarRequest.
  GrammarConstraint(GrammarMatcher matcher, std::shared_ptr<const std::vector<Token>> stops,
                    std::size_t mask_words, Token after)
      : matcher_(std::move(matcher)),
        stops_(std::move(stops)),
        mask_words_(mask_words),
        after_(after) {}

  std::span<const std::uint32_t> allowed() override;
  bool allows(Token token) override;
  void advance(Token token) override;
  bool has_ended() const override { return !is_waiting() && matcher_.has_ended(); }
  const std::string& fault() const override { return matcher_.fault(); }
  std::unique_ptr<TokenConstraint> fork() const override;
  std::string forced() override { return is_waiting() ? std::string() : matcher_.forced(); }

 private:
  bool is_waiting() const { return after_ != kNoToken; }

  GrammarMatcher matcher_;
  std::shared_ptr<const std::vector<Token>> stops_;
  std::size_t mask_words_;
  Token after_;
  std::vector<std::uint32_t> mask_;
};

class GrammarSource final : public ConstraintSource {
 public:
  GrammarSource(std::shared_ptr<const Grammar> grammar, std::vector<Token> stops, Token after)
      : grammar_(std::move(grammar)),
        stops_(std::make_shared<const std::vector<Token>>(std::move(stops))),
        after_(after) {}
  std::unique_ptr<TokenConstraint> start() const override;

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const std::vector<Token>> stops_;
  Token after_;
};

// Compiles what the request asks for, or says why that cannot be. Takes its time: for workers.
Result<std::shared_ptr<const ConstraintSource>> make_constraint(ServerContext& context,
                                                                const GrammarRequest& request,
                                                                const std::vector<Token>& stops);

}  // namespace foretoken
