#pragma once
// TokenConstraint: which tokens may come next in one text, as a function of the tokens that came
// before and of nothing else: so a text is the same however many of its tokens a step finds. It
// stands at the end of the text; the walk moves it along the tokens that are sampled, so each node
// of a tree is sampled under the mask of its own path, and only nodes that are visited cost one.
// Not a grammar: grammars implement it. One thread at a time, that of the walk or the
// engine's. ConstraintSource: what makes them, one for each text; const use from any thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  // Bit per token that may come next, stop tokens where the text may end; what lies behind the
  // last word may not. Empty: any token. Valid until another call. Nothing is promised after the
  // end or after a fault.
  virtual std::span<const std::uint32_t> allowed() = 0;

  // The bit of one token, by less work.
  virtual bool allows(Token token) = 0;

  // Moves behind a token that is allowed and does not end the text.
  virtual void advance(Token token) = 0;

  // The text is complete, and nothing may follow.
  virtual bool has_ended() const = 0;

  // Why it cannot say what may come next; such a text ends. Empty: it can.
  virtual const std::string& fault() const = 0;

  // How many of these tokens, one after the other, may come next.
  virtual int count_allowed(std::span<const Token> tokens) = 0;

  // Tokens that probably come next, because little else may: a guess, for drafts. Its cost does not
  // grow with what it finds beyond some dozen tokens.
  virtual std::vector<Token> foreseen() { return {}; }
};

class ConstraintSource {
 public:
  virtual ~ConstraintSource() = default;
  virtual std::unique_ptr<TokenConstraint> start() const = 0;  // before the first token
};

}  // namespace foretoken
